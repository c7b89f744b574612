#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/model/generator.hpp"
#include "support/expect_error.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

const schema::Schema kSmallImages = test::schema_of({3, 8, 12}, 2);

std::shared_ptr<Generator> particles(std::size_t n, const schema::Schema& schema = kSmallImages) {
  return test::network("particles", {{"particles", n}})->build(schema, 1, nullptr);
}

double mean_square(const Tensor& x) { return x.square().mean().item<double>(); }

TEST(Particles, StartAsGreyishNoiseWithPowerInEveryOctave) {
  const std::int64_t n = 400;
  const auto generator = particles(static_cast<std::size_t>(n));
  const Tensor code = torch::arange(n, torch::kFloat32).unsqueeze(1),
               label = torch::zeros({n}, torch::kInt64);
  const Tensor x = generator->draw(code, label).view({n, 3, 8, 12});
  EXPECT_NEAR(x.mean().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(x.std().item<double>(), 0.15, 0.05);
  // Of white noise, means of 4 x 4 pixels would have a sixteenth of the power.
  const Tensor d = x - 0.5;
  EXPECT_GT(mean_square(torch::avg_pool2d(d, 4)), mean_square(d) / 4);
  EXPECT_GT(mean_square(d - torch::upsample_nearest2d(torch::avg_pool2d(d, 4), {8, 12})), mean_square(d) / 8);
  const Tensor grey = d.mean(1, /*keepdim=*/true);
  EXPECT_LT(mean_square(d - grey), mean_square(grey) / 2);
}

TEST(Particles, EachIsDrawnOnceBySamplesWithEqualLabels) {
  const std::size_t n = 7;
  const auto generator = particles(n);
  const Tensor labels = label_tensor(9, false, 0, 0, 2 * n, 2 * n, {0.5, 0.5}, /*stratified=*/true);
  const Tensor codes = generator->codes(9, /*training=*/false, 0, 0, 2 * n);
  std::set<std::pair<std::int64_t, float>> drawn;
  for (std::int64_t i = 0; i < codes.size(0); ++i)
    drawn.emplace(labels[i].item<std::int64_t>(), codes[i].item<float>());
  EXPECT_EQ(drawn.size(), 2 * n);
  const Tensor x = generator->draw(codes, labels);
  EXPECT_EQ(std::get<0>(torch::_unique2(torch::round(x.sum(1) * 1e4))).numel(),
            static_cast<std::int64_t>(2 * n));
}

TEST(Particles, TrainingTakesThemAtRandom) {
  const auto generator = particles(50);
  const Tensor a = generator->codes(9, /*training=*/true, 3, 0, 400),
               b = generator->codes(9, true, 4, 0, 400);
  EXPECT_FALSE(torch::equal(a, b));
  EXPECT_TRUE(torch::equal(a.narrow(0, 100, 300), generator->codes(9, true, 3, 100, 300)));
  EXPECT_EQ(std::get<0>(torch::_unique2(a)).numel(), 50);
  EXPECT_GE(a.min().item<float>(), 0);
  EXPECT_LT(a.max().item<float>(), 50);
}

TEST(Particles, NoneIsStuckPastABound) {
  const auto generator = particles(4, test::schema_of({6}, 2));
  {
    const torch::NoGradGuard no_grad;
    for (Tensor& p : generator->parameters()) p.fill_(10.0);
  }
  const Tensor code = torch::zeros({1, 1}), label = torch::ones({1}, torch::kInt64);
  const Tensor x = generator->forward(code, label);
  EXPECT_TRUE((x == 1).all().item<bool>());
  x.sum().backward();
  const Tensor gradient = generator->parameters()[0].grad().flatten(1);
  EXPECT_TRUE((gradient[4] > 0).all().item<bool>());         // the first of class 1
  EXPECT_EQ((gradient != 0).sum().item<std::int64_t>(), 6);  // and no other
}

TEST(Particles, DoNotStandBesideAClosedForm) {
  test::expect_error(ExitCode::kConfig, {"particles", "train.init"},
                     [] { test::network("particles")->beside(9)->build(kSmallImages, 1, nullptr); });
}

}  // namespace
}  // namespace muffle::model
