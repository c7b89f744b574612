#include "muffle/embed/self_check.hpp"

#include <gtest/gtest.h>

#include "embed/shards.hpp"

namespace muffle::embed {
namespace {

Embedder embedder(std::size_t features, std::size_t classes = 10) {
  return test::embedder_of({test::rff_map(12, features)}, {12}, classes, false);
}

/// A block as another library or processor might make it: one integer of one record is another.
class Off final : public features::Block {
 public:
  explicit Off(std::shared_ptr<const features::Block> inner) : inner_(std::move(inner)) {}
  std::size_t dims() const override { return inner_->dims(); }
  std::size_t features() const override { return inner_->features(); }
  std::unique_ptr<features::Workspace> make_workspace() const override { return inner_->make_workspace(); }
  std::size_t tile() const override { return inner_->tile(); }
  features::Guard guard() const override { return inner_->guard(); }
  void embed(const float* x, const std::int32_t* y, std::size_t n, features::Workspace& workspace,
             features::Accumulator& sums) const override {
    if (++calls_ == 40) return;  // it is left out
    inner_->embed(x, y, n, workspace, sums);
  }

 private:
  std::shared_ptr<const features::Block> inner_;
  mutable int calls_ = 0;
};

TEST(SelfCheck, IsTheSameOfThePlanAndAnotherOfOtherSums) {
  const Sha256Digest check = self_check(embedder(16));
  EXPECT_EQ(self_check(embedder(16)), check);
  EXPECT_NE(self_check(embedder(18)), check);
  EXPECT_NE(self_check(embedder(16, 4)), check);
  Embedder off = embedder(16);
  off.blocks[0] = std::make_shared<Off>(off.blocks[0]);
  EXPECT_NE(self_check(off), check);
  EXPECT_NE(check, Sha256Digest{});
  EXPECT_EQ(self_check(embedder(16).plan), check);
}

}  // namespace
}  // namespace muffle::embed
