#include "muffle/features/weighted.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::features {
namespace {

constexpr double kLeast = 1e-6, kMost = 1e6;

void check(double weight) {
  if (!(weight >= kLeast && weight <= kMost))
    throw ConfigError(fmt::format("a feature block's weight is {}; it must be a number from {} to {}",
                                  exact_text(weight), kLeast, kMost));
}

class WeightedBlock final : public Block {
 public:
  WeightedBlock(std::unique_ptr<Block> block, double weight) : block_(std::move(block)), weight_(weight) {}
  std::string name() const override { return block_->name(); }
  std::size_t dims() const override { return block_->dims(); }
  std::size_t features() const override { return block_->features(); }
  std::size_t tile() const override { return block_->tile(); }
  BlockBound bound() const override { return weighted(block_->bound(), weight_); }
  std::vector<CoordinateRun> coordinates() const override { return weighted(block_->coordinates(), weight_); }
  std::unique_ptr<Workspace> make_workspace() const override { return block_->make_workspace(); }
  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                           std::span<std::uint64_t> sums) const override {
    return block_->accumulate(x, y, n, workspace, sums);
  }
  int useful_threads() const override { return block_->useful_threads(); }
  bool takes_bytes() const override { return block_->takes_bytes(); }
  std::uint64_t accumulate_bytes(const std::uint8_t* x, const schema::ByteScale& scale, const std::int32_t* y,
                                 std::size_t n, Workspace& workspace,
                                 std::span<std::uint64_t> sums) const override {
    return block_->accumulate_bytes(x, scale, y, n, workspace, sums);
  }

 private:
  std::unique_ptr<Block> block_;
  double weight_;
};

}  // namespace

BlockBound weighted(BlockBound bound, double weight) {
  check(weight);
  if (weight == 1.0) return bound;
  bound.norm = multiply_up(bound.norm, weight);
  bound.theorem = fmt::format("Scaled by {}: {}", exact_text(weight), bound.theorem);
  return bound;
}

std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight) {
  check(weight);
  for (CoordinateRun& run : runs) run.unit = divide_up(run.unit, weight);
  return runs;
}

std::unique_ptr<Block> make_weighted_block(std::unique_ptr<Block> block, double weight) {
  check(weight);
  if (weight == 1.0) return block;
  return std::make_unique<WeightedBlock>(std::move(block), weight);
}

}  // namespace muffle::features
