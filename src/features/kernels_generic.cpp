// The kernels in portable C++: slow where std::fma is a library call, and the same bits.
#include <cmath>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  static constexpr std::size_t kLanes = 8, kVectors = 1, kGroup = 4;
  struct F {
    float v[kLanes];
  };
  struct I {
    std::int32_t v[kLanes];
  };

  template <typename Result, typename Operation>
  static Result each(Operation operation) {
    Result result;
    for (std::size_t l = 0; l < kLanes; ++l) result.v[l] = operation(l);
    return result;
  }
  static F zero() { return F{}; }
  static F load(const float* p) {
    return each<F>([&](std::size_t l) { return p[l]; });
  }
  static void store(std::int32_t* p, const I& x) {
    for (std::size_t l = 0; l < kLanes; ++l) p[l] = x.v[l];
  }
  static F broadcast(float x) {
    return each<F>([&](std::size_t) { return x; });
  }
  static F mul(const F& a, const F& b) {
    return each<F>([&](std::size_t l) { return a.v[l] * b.v[l]; });
  }
  static F sub(const F& a, const F& b) {
    return each<F>([&](std::size_t l) { return a.v[l] - b.v[l]; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    return each<F>([&](std::size_t l) { return std::fma(a.v[l], b.v[l], c.v[l]); });
  }
  static F round(const F& a) {
    return each<F>([&](std::size_t l) { return std::nearbyint(a.v[l]); });
  }
  static I truncate(const F& a) {
    return each<I>([&](std::size_t l) {
      return a.v[l] >= -0x1p31f && a.v[l] < 0x1p31f ? static_cast<std::int32_t>(a.v[l]) : INT32_MIN;
    });
  }
  static F odd(const I& q, const F& a, const F& b) {
    return each<F>([&](std::size_t l) { return (q.v[l] & 1) != 0 ? b.v[l] : a.v[l]; });
  }
  static F flip(const I& q, const F& a) {
    return each<F>([&](std::size_t l) { return (q.v[l] & 2) != 0 ? -a.v[l] : a.v[l]; });
  }
  static I increment(const I& q) {
    return each<I>(
        [&](std::size_t l) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(q.v[l]) + 1); });
  }
};

#include "kernel_body.hpp"

}  // namespace

extern const Kernels kGenericKernels;
const Kernels kGenericKernels = table("generic");

}  // namespace muffle::features
