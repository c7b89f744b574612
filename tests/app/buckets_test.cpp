// Into how many messages the gradients of the shipped generators go.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config_problems.hpp"
#include "muffle/app/config.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/train/gradient_reducer.hpp"

namespace muffle::app {
namespace {

/// A collective like NCCL's in all that the reducer asks of it.
class Overlapping : public model::TensorCollective {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce_sum(torch::Tensor&) override {}
  void broadcast(torch::Tensor&) override {}
  bool overlaps() const override { return true; }
};

TEST(Buckets, AShippedGeneratorHasSeveralWhereSumsOverlapAndOneWhereTheyDoNot) {
  const auto alone = comm::single_process();
  int trained = 0;
  const testing_config::ShippedConfigs configs;
  for (const std::string& file : configs.files) {
    SCOPED_TRACE(file);
    const Config config = load_config({file, {}, {}, {}});
    const model::NetworkSettings* const network = config.model.chosen().network();
    if (network == nullptr) continue;  // nothing is trained
    ++trained;
    const auto on_gpus = std::make_shared<Overlapping>();
    const auto on_cpus = model::host_collective(*alone);
    const auto generator = network->build(config.data.schema, 1, on_gpus);
    // Points are one tensor of numbers.
    const std::size_t most = generator->parameters().size();
    EXPECT_GE(train::GradientReducer(generator->parameters(), on_gpus).buckets(),
              std::min<std::size_t>(3, most));
    EXPECT_EQ(train::GradientReducer(generator->parameters(), on_cpus).buckets(), 1u);
  }
  EXPECT_GE(trained, 3);
}

TEST(Buckets, AreAQuarterWithinBounds) {
  using Reducer = train::GradientReducer;
  EXPECT_EQ(Reducer::bucket_bytes(800'000, true), 200'000u);
  EXPECT_EQ(Reducer::bucket_bytes(1000, true), Reducer::kLeastBucketBytes);
  EXPECT_EQ(Reducer::bucket_bytes(std::size_t{1} << 30, true), Reducer::kBucketBytes);
  EXPECT_EQ(Reducer::bucket_bytes(800'000, false), Reducer::kBucketBytes);
}

}  // namespace
}  // namespace muffle::app
