// FashionMNIST as Debian ships it (dataset-fashion-mnist).
#include "support/fashion_mnist.hpp"

#include <gtest/gtest.h>

#include <array>

#include "muffle/data/source.hpp"

namespace muffle::data {
namespace {

TEST(FashionMnist, HasSixThousandOfEachClassInTrain) {
  const auto source = open_shard(muffle::test::fashion_mnist("train"), 0, 1);
  EXPECT_EQ(source->shard_size(), 60000u);
  std::array<int, 10> counts{};
  double sum = 0.0;
  Batch batch;
  for (source->next(1000, batch); batch.n > 0; source->next(1000, batch)) {
    for (const std::int32_t y : batch.y) ++counts.at(static_cast<std::size_t>(y));
    for (const float v : batch.x) sum += static_cast<double>(v);
  }
  for (const int c : counts) EXPECT_EQ(c, 6000);
  EXPECT_NEAR(sum / (60000.0 * 784), 0.2860, 0.0001);  // the published mean pixel
}

}  // namespace
}  // namespace muffle::data
