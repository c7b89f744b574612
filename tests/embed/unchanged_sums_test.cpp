// The lattice sums of the shipped configurations may never change: a release of last year and one of today
// are then made of the same integers. Each hash was computed by the code before feature maps became kinds,
// over all 60,000 training records of FashionMNIST.
#include <gtest/gtest.h>

#include <filesystem>

#include "embed/shards.hpp"
#include "support/fashion_mnist.hpp"

namespace muffle::embed {
namespace {

std::string sums_of_fashion_mnist(std::shared_ptr<const features::FeatureMap> map) {
  const Embedder embedder = test::embedder_of({test::named("x", std::move(map))}, {1, 28, 28}, 10, false);
  const auto source = data::open_shard(test::fashion_mnist(), 0, 1);
  return test::sha256_of(TestAccess::values(embed_shard(embedder, *source, 2, {})));
}

class UnchangedSums : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::filesystem::path(MUFFLE_FASHION_MNIST_DIR) /
                                 test::fashion_mnist().features))
      GTEST_SKIP() << "FashionMNIST is not in " MUFFLE_FASHION_MNIST_DIR " (CMake: MUFFLE_FASHION_MNIST_DIR)";
  }
  const schema::Schema schema_ = test::schema_of({1, 28, 28}, 10);
};

// configs/fashion-mnist.toml
TEST_F(UnchangedSums, OfRandomFourierFeatures) {
  EXPECT_EQ(sums_of_fashion_mnist(test::make_map("rff",
                                                 {{"count", "10000"},
                                                  {"length_scale", "11.269427669584644"},
                                                  {"frequencies", "dense"},
                                                  {"seed", "1"}},
                                                 schema_)),
            "a1fa7f1a004cbf463091aaaf5d490f7508b06fec5f3f1a3ec29f6c4cef2e579c");
}

// configs/fashion-mnist-moments.toml, whose noise chooses a side of 14
TEST_F(UnchangedSums, OfSecondMoments) {
  EXPECT_EQ(sums_of_fashion_mnist(test::make_moments({{"lift", "image"}, {"coefficients", "14"}}, schema_)),
            "bce0085150f65edd90febe7fa0b7a013c34f4d9a95b0e9fb824965885e5a3f11");
}

}  // namespace
}  // namespace muffle::embed
