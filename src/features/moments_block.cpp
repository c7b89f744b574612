#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "float_environment.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/second_moments.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kTile = kMomentsTile;
/// With |z_i z_j| <= 2^(2 bits) <= 2^40, every partial sum of a tile is an integer of at most 2^53: doubles
/// add and multiply them exactly, in any order, with fused operations or without.
constexpr int kMaxBits = 20;
static_assert(kTile <= std::size_t{1} << (53 - 2 * kMaxBits));

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct MomentsWorkspace final : Workspace {
  explicit MomentsWorkspace(std::size_t order)
      : z(kTile * order), gram(static_cast<Eigen::Index>(order), static_cast<Eigen::Index>(order)) {}
  std::vector<double> z;  // accepted records x order, integers, class by class
  Eigen::MatrixXd gram;   // of one class, lower triangle
};

class MomentsBlock final : public Block {
 public:
  explicit MomentsBlock(const SecondMoments& moments)
      : moments_(moments), lift_(*moments_.lift), order_(moments.order()), scale_(moments.scale()) {}

  std::size_t dims() const override { return lift_.dims(); }
  std::size_t features() const override { return order_ * (order_ + 1) / 2; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<MomentsWorkspace>(order_);
  }

  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                           std::span<std::uint64_t> sums) const override {
    require(n <= kTile, fmt::format("{} records in a tile of {}", n, kTile));
    require(sums.size() % features() == 0, "the sums are not a whole number of classes");
    auto& scratch = dynamic_cast<MomentsWorkspace&>(workspace);
    const DefaultFloatEnvironment environment;
    const auto classes = static_cast<std::int64_t>(sums.size() / features());
    std::array<std::uint16_t, kTile> by_class;
    std::iota(by_class.begin(), by_class.begin() + n, std::uint16_t{0});
    std::sort(by_class.begin(), by_class.begin() + n,
              [&](std::uint16_t a, std::uint16_t b) { return y[a] < y[b]; });

    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < n;) {
      const std::int32_t label = y[by_class[i]];
      std::size_t accepted = 0;
      for (; i < n && y[by_class[i]] == label; ++i) {
        const std::size_t record = by_class[i];
        double* const z = scratch.z.data() + accepted * order_;
        if (label >= 0 && label < classes && write_z(x + record * dims(), z)) {
          ++accepted;
        } else {
          ++refused;
        }
      }
      if (accepted > 0)
        add_products(scratch, accepted, sums.data() + static_cast<std::size_t>(label) * features());
    }
    return refused;
  }

 private:
  /// z on the integers. False if it is not finite or fails the norm check, made on what is then multiplied.
  bool write_z(const float* x, double* z) const {
    z[0] = moments_.offset;
    lift_.forward(x, z + 1);
    double squares = 0;
    for (std::size_t i = 0; i < order_; ++i) squares += z[i] * z[i];
    const double factor = scale_ / std::sqrt(squares);
    for (std::size_t i = 0; i < order_; ++i) z[i] = std::nearbyint(z[i] * factor);
    return within_norm(std::span(z, order_), moments_.bits);
  }

  void add_products(MomentsWorkspace& scratch, std::size_t records, std::uint64_t* sums) const {
    const Eigen::Map<const RowMajor> z(scratch.z.data(), static_cast<Eigen::Index>(records),
                                       static_cast<Eigen::Index>(order_));
    scratch.gram.setZero();
    scratch.gram.selfadjointView<Eigen::Lower>().rankUpdate(z.transpose());
    const auto add = [](std::uint64_t& sum, double product) {
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(product));
    };
    std::uint64_t* next = sums + order_;
    for (std::size_t i = 0; i < order_; ++i) {
      const double* const column = scratch.gram.data() + i * order_;
      add(sums[i], column[i]);
      for (std::size_t j = i + 1; j < order_; ++j) add(*next++, column[j]);
    }
  }

  SecondMoments moments_;
  const Lift& lift_;
  std::size_t order_;
  double scale_;
};

}  // namespace

bool within_norm(std::span<const double> z, int bits) {
  const double most = std::ldexp(1.0, bits);
  std::uint64_t squares = 0;
  for (const double v : z) {
    if (!(std::fabs(v) <= most)) return false;  // nor NaN
    const auto integer = static_cast<std::int64_t>(v);
    squares += static_cast<std::uint64_t>(integer * integer);  // at most 2^13 terms of 2^40
  }
  return squares <= std::uint64_t{1} << (2 * bits);
}

double SecondMoments::scale(std::size_t order, int bits) {
  return std::ldexp(1.0, bits) - 0.5 * std::sqrt(static_cast<double>(order)) - 1.0;
}

std::unique_ptr<Block> make_moments_block(const SecondMoments& moments) {
  return std::make_unique<MomentsBlock>(moments);
}

}  // namespace muffle::features
