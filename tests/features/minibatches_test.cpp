#include "muffle/features/minibatches.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace muffle::features {
namespace {

TEST(Minibatches, EveryPlaceIsInOneBatchOfEachEpoch) {
  constexpr std::uint64_t kRecords = 5000;
  const Minibatches m{.batches = 7, .epochs = 3, .seed = 5};
  ASSERT_TRUE(m);
  EXPECT_EQ(m.parts(), 21u);
  const std::vector<std::uint64_t> sizes = m.sizes(kRecords);
  ASSERT_EQ(sizes.size(), 21u);
  std::vector<std::uint64_t> counted(21);
  std::uint64_t stayed = 0;
  for (std::uint64_t record = 0; record < kRecords; ++record) {
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      ASSERT_LT(m.batch_of(epoch, record), 7u);
      ++counted[epoch * 7 + m.batch_of(epoch, record)];
    }
    stayed += m.batch_of(0, record) == m.batch_of(1, record);
  }
  EXPECT_EQ(counted, sizes);
  for (std::size_t epoch = 0; epoch < 3; ++epoch)
    EXPECT_EQ(std::accumulate(sizes.begin() + 7 * epoch, sizes.begin() + 7 * (epoch + 1), std::uint64_t{0}),
              kRecords);
  // Binomial: five standard deviations.
  const double p = 1.0 / 7, wide = 5 * std::sqrt(kRecords * p * (1 - p));
  for (const std::uint64_t size : sizes) EXPECT_NEAR(static_cast<double>(size), kRecords * p, wide);
  EXPECT_NEAR(static_cast<double>(stayed), kRecords * p, wide) << "each epoch deals anew";
  EXPECT_NE((Minibatches{.batches = 7, .epochs = 3, .seed = 6}).sizes(kRecords), sizes);
}

TEST(Minibatches, WithoutThemAMapIsReleasedWhole) {
  EXPECT_FALSE(Minibatches{});
  EXPECT_EQ(Minibatches{}.parts(), 1u);
}

}  // namespace
}  // namespace muffle::features
