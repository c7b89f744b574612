// The plan's formulas against the real generators.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "app/generator_size.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/sync_batch_norm.hpp"

namespace muffle::app {
namespace {

void expect_size(const model::GeneratorSpec& spec) {
  const auto generator = model::make_generator(spec, 1, nullptr);
  std::uint64_t parameters = 0, norms = 0, features = 0;
  for (const auto& p : generator->parameters()) parameters += static_cast<std::uint64_t>(p.numel());
  for (const auto& m : generator->modules(false)) {
    if (const auto* norm = dynamic_cast<const model::SyncBatchNorm*>(m.get())) {
      ++norms;
      features += static_cast<std::uint64_t>(norm->weight.numel());
    }
  }
  const GeneratorSize size = generator_size(spec);
  EXPECT_EQ(size.parameters, parameters);
  EXPECT_EQ(size.norms, norms);
  EXPECT_EQ(size.normed_features, features);
}

TEST(PlanModel, GeneratorSizesAreExact) {
  model::GeneratorSpec spec;
  spec.schema.shape = {1, 28, 28};
  spec.schema.classes = 10;
  expect_size(spec);
  spec.schema.shape = {3, 32, 16};
  spec.channels = {7, 5};
  spec.hidden = {30, 20};
  expect_size(spec);
  spec.kind = model::GeneratorKind::kFullyConnected;
  expect_size(spec);
  spec.schema.shape = {2};
  spec.schema.classes = 1;
  spec.hidden = {200, 500, 500, 200};
  expect_size(spec);
  spec.kind = model::GeneratorKind::kMoments;
  EXPECT_EQ(generator_size(spec).parameters, 0u) << "nothing is trained";
}

}  // namespace
}  // namespace muffle::app
