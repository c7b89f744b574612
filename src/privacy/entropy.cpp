#include "muffle/privacy/entropy.hpp"

#include <sodium.h>

#include <cstring>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::privacy {
namespace {

class OsEntropy final : public EntropySource {
 public:
  OsEntropy() {
    require(sodium_init() >= 0,
            "libsodium could not be set up, so there is no source of privacy noise and nothing is released: "
            "check that "
            "getrandom(2) or /dev/urandom works on this machine.");
  }
  void fill(std::span<std::byte> out) override { randombytes_buf(out.data(), out.size()); }
  bool is_secure() const override { return true; }
};

class InsecureSeededEntropy final : public EntropySource {
 public:
  explicit InsecureSeededEntropy(std::uint64_t seed) : stream_(seed, Stream::kInsecureNoise) {}
  void fill(std::span<std::byte> out) override {
    while (!out.empty()) {
      const std::uint64_t word = stream_.bits(next_++);
      const std::size_t n = std::min(out.size(), sizeof word);
      std::memcpy(out.data(), &word, n);
      out = out.subspan(n);
    }
  }
  bool is_secure() const override { return false; }

 private:
  CounterStream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<EntropySource> os_entropy() { return std::make_unique<OsEntropy>(); }

std::unique_ptr<EntropySource> insecure_seeded_entropy(std::uint64_t seed) {
  return std::make_unique<InsecureSeededEntropy>(seed);
}

}  // namespace muffle::privacy
