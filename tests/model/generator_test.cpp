#include "muffle/model/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/sync_batch_norm.hpp"
#include "support/expect_error.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

const schema::Schema kImages = test::schema_of({2, 8, 12}, 3), kTable = test::schema_of({6}, 2);

std::shared_ptr<const NetworkSettings> images(nlohmann::json with = {{"hidden", {12}},
                                                                     {"channels", {4, 3}}}) {
  return test::network("convolutional", with);
}
std::shared_ptr<const NetworkSettings> table(nlohmann::json with = {{"hidden", {10, 8}}}) {
  return test::network("fully-connected", with);
}

Tensor philox_normal(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream stream(7, Stream::kTest, substream);
  Tensor t = torch::empty(shape, torch::kFloat64);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    t.data_ptr<double>()[i] = stream.normal(static_cast<std::uint64_t>(i));
  }
  return t;
}

double worst(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(Generator, ParametersArePureFunctionsOfSpecAndSeed) {
  torch::manual_seed(1);
  const auto a = images()->build(kImages, 5, nullptr);
  torch::manual_seed(2);
  const auto b = images()->build(kImages, 5, nullptr);
  const auto other = images()->build(kImages, 6, nullptr);
  for (const auto& p : a->named_parameters()) {
    EXPECT_TRUE(torch::equal(p.value(), b->named_parameters()[p.key()])) << p.key();
    EXPECT_TRUE(p.value().requires_grad()) << p.key();
  }
  EXPECT_FALSE(
      torch::equal(a->named_parameters()["conv0.weight"], other->named_parameters()["conv0.weight"]));
}

TEST(Generator, ParametersFollowTorchsDefaultLaw) {
  const auto generator = table({{"hidden", {200, 300}}})->build(kTable, 1, nullptr);
  const Tensor weight = generator->named_parameters()["hidden1.weight"];
  const double bound = 1.0 / std::sqrt(200.0);
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), 0.01 * bound);
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 0.01 * bound);
}

TEST(Generator, LabelsAndCodesMatter) {
  const auto generator = table()->build(kTable, 1, nullptr);
  generator->eval();
  const Tensor z = latent_codes(1, true, 0, 0, 2, 5), y = torch::zeros({2}, torch::kInt64);
  const Tensor x = generator->forward(z, y);
  EXPECT_GT(worst(x, generator->forward(z, y + 1)), 1e-4);
  EXPECT_GT(worst(x[0], x[1]), 1e-4);
}

/// The size that DP-MEPF's has at 32 pixels: 100 numbers in, 3.3 million parameters.
TEST(Generator, ResnetMayHaveNoHiddenLayerAndStatesWhatItTakes) {
  const schema::Schema images = test::schema_of({3, 32, 32}, 10);
  const auto network = test::network(
      "resnet", {{"code", 90}, {"hidden", nlohmann::json::array()}, {"blocks", {512, 256, 128, 64}}});
  const double expected =
      101.0 * 8192 + 9 * (512 * 256 + 256 * 256 + 256 * 128 + 128 * 128 + 128 * 64 + 64 * 64) +
      (512 * 256 + 256 * 128 + 128 * 64) + 2 * (512 + 2 * 256 + 2 * 128 + 2 * 64) + (9 * 64 + 1) * 3;
  EXPECT_EQ(static_cast<double>(network->size(images).parameters), expected);
  EXPECT_EQ(network->size(images).norms, 7u);
  test::expect_error(ExitCode::kConfig, {"8 times", "multiples"}, [&] {
    network->build(test::schema_of({3, 28, 28}, 10), 1, nullptr);
  });
  test::expect_error(ExitCode::kConfig, {"draws images"},
                     [&] { network->build(test::schema_of({64}, 10), 1, nullptr); });
  test::expect_error(ExitCode::kConfig, {"model.blocks"}, [&] {
    test::network("resnet", {{"blocks", {16}}})->build(test::schema_of({3, 32, 32}, 10), 1, nullptr);
  });
}

TEST(Generator, ResnetDrawsImagesOf64Pixels) {
  const schema::Schema faces = test::schema_of({3, 64, 64}, 2);
  const auto network = test::network("resnet", {{"code", 6}, {"blocks", {8, 8, 4, 4, 4}}});
  const auto generator = network->build(faces, 1, nullptr);
  const Tensor x = generator->forward(latent_codes(1, true, 0, 0, 5, 6), torch::zeros({5}, torch::kInt64));
  EXPECT_EQ(x.sizes(), (torch::IntArrayRef{5, 3 * 64 * 64}));
  EXPECT_GE(x.min().item<float>(), 0.0f);
  EXPECT_LE(x.max().item<float>(), 1.0f);
  EXPECT_GT(worst(x[0], x[1]), 1e-4);
}

TEST(Generator, ImpossibleShapesAreConfigErrors) {
  const auto refuse = [](const NetworkSettings& network, const schema::Schema& schema,
                         const std::string& hint) {
    test::expect_error(ExitCode::kConfig, {hint}, [&] { network.build(schema, 1, nullptr); });
    EXPECT_THROW(network.size(schema), ConfigError);
  };
  refuse(*images(), test::schema_of({1, 30, 28}, 3), "multiples of 4");
  refuse(*images(), test::schema_of({6}, 3), "use \"fully-connected\"");
  refuse(*images({{"channels", {16}}}), kImages, "model.channels needs 2");
  refuse(*table({{"hidden", {1 << 24, 1 << 24}}}), kTable, "larger than a model file");
}

TEST(Generator, ADivergedOneIsNotSaved) {
  const auto generator = table()->build(kTable, 1, nullptr);
  const torch::NoGradGuard no_grad;
  generator->parameters()[0].fill_(std::nanf(""));
  EXPECT_THROW(content_of(*generator), InvariantError);
}

TEST(SyncBatchNorm, OneRankIsTorchsBatchNorm) {
  const Tensor x = philox_normal({11, 4}, 1) * 3.0 + 2.0, dy = philox_normal({11, 4}, 2);
  const Tensor weight = philox_normal({4}, 3), bias = philox_normal({4}, 4);
  SyncBatchNorm ours(4, nullptr);
  torch::nn::BatchNorm1d torchs(4);
  ours.to(torch::kFloat64);
  torchs->to(torch::kFloat64);
  {
    const torch::NoGradGuard no_grad;
    for (auto* p : {&ours.weight, &torchs->weight}) p->copy_(weight);
    for (auto* p : {&ours.bias, &torchs->bias}) p->copy_(bias);
  }
  const Tensor x1 = x.clone().requires_grad_(), x2 = x.clone().requires_grad_();
  for (int step = 0; step < 2; ++step) {
    const Tensor y1 = ours.forward(x1), y2 = torchs->forward(x2);
    EXPECT_LT(worst(y1, y2), 1e-12);
    y1.backward(dy);
    y2.backward(dy);
  }
  EXPECT_LT(worst(x1.grad(), x2.grad()), 1e-12);
  EXPECT_LT(worst(ours.weight.grad(), torchs->weight.grad()), 1e-12);
  EXPECT_LT(worst(ours.bias.grad(), torchs->bias.grad()), 1e-12);
  EXPECT_LT(worst(ours.running_mean, torchs->running_mean), 1e-12);
  EXPECT_LT(worst(ours.running_var, torchs->running_var), 1e-12);
  ours.eval();
  torchs->eval();
  EXPECT_LT(worst(ours.forward(x), torchs->forward(x)), 1e-12);
}

TEST(LatentCodes, DependOnTheSampleIndexAlone) {
  const Tensor all = latent_codes(3, true, 17, 0, 20, 5);
  EXPECT_TRUE(torch::equal(all.slice(0, 7, 13), latent_codes(3, true, 17, 7, 6, 5)));
  EXPECT_FALSE(torch::equal(all, latent_codes(3, true, 18, 0, 20, 5)));
  EXPECT_FALSE(torch::equal(all, latent_codes(3, false, 17, 0, 20, 5)));
  const Tensor many = latent_codes(1, false, 0, 0, 20000, 5);  // 100,000 draws: 5 standard errors
  EXPECT_NEAR(many.mean().item<double>(), 0.0, 5.0 / std::sqrt(1e5));
  EXPECT_NEAR(many.var().item<double>(), 1.0, 5.0 * std::sqrt(2.0 / 1e5));
}

std::vector<std::int64_t> counts(const Tensor& labels, std::int64_t classes) {
  const Tensor c = torch::bincount(labels, {}, classes);
  return {c.data_ptr<std::int64_t>(), c.data_ptr<std::int64_t>() + classes};
}

TEST(DrawLabels, StratifiedMeetsTheSharesToWholeNumbers) {
  const std::vector<double> share{0.5, 0.0, 0.337, 0.163};
  for (const std::uint64_t total : {1u, 2u, 7u, 100u, 500u, 4001u}) {
    for (std::uint32_t step = 0; step < 20; ++step) {
      const auto n = counts(label_tensor(1, true, step, 0, total, total, share, true), 4);
      EXPECT_EQ(n[1], 0);
      for (std::size_t c = 0; c < 4; ++c) {
        EXPECT_LT(std::fabs(static_cast<double>(n[c]) - share[c] * static_cast<double>(total)), 1.0) << total;
      }
    }
  }
}

TEST(DrawLabels, EqualSharesAreMetExactlyAndEveryStretchIsSpread) {
  const std::vector<double> share(10, 0.1);
  const Tensor labels = label_tensor(1, false, 0, 0, 60000, 60000, share, true);
  EXPECT_THAT(counts(labels, 10), ::testing::Each(6000));
  EXPECT_THAT(counts(labels.slice(0, 12345, 12345 + 1000), 10),
              ::testing::Each(::testing::AllOf(::testing::Ge(95), ::testing::Le(105))));
}

TEST(DrawLabels, PartsFitTogether) {
  const std::vector<double> share{0.2, 0.8};
  for (const bool stratified : {true, false}) {
    const Tensor all = label_tensor(1, true, 4, 0, 50, 50, share, stratified);
    EXPECT_TRUE(torch::equal(all.slice(0, 13, 29), label_tensor(1, true, 4, 13, 16, 50, share, stratified)));
    EXPECT_FALSE(torch::equal(all, label_tensor(1, true, 5, 0, 50, 50, share, stratified)));
  }
}

TEST(DrawLabels, IndependentDrawsHaveTheSharesInTheMean) {
  const std::vector<double> share{0.2, 0.0, 0.8};
  const auto n = counts(label_tensor(1, true, 0, 0, 100000, 100000, share, false), 3);
  EXPECT_NEAR(static_cast<double>(n[0]), 20000, 5 * std::sqrt(16000.0));
  EXPECT_EQ(n[1], 0);
  EXPECT_NE(n[0], 20000);
}

TEST(DrawLabels, SharesThatAreNoneAreRefused) {
  for (const auto& share : {std::vector<double>{0.5, 0.4}, {1.5, -0.5}, {std::nan(""), 1.0}}) {
    EXPECT_THROW(label_tensor(1, true, 0, 0, 4, 4, share, true), InvariantError);
  }
}

/// (twin_conformance_test.cpp holds sums and gradients to the lattice path and to finite differences.)
TEST(FourierEmbedding, RecordsHaveNormOneWhateverTheirPhase) {
  for (const double size : {1e-3, 1.0, 1e3}) {
    const FourierEmbedding embedding((philox_normal({500, 3}, 1) * size).to(torch::kFloat32), 1);
    const Tensor x = philox_normal({1, 3}, 2).to(torch::kFloat32);
    const double norm = embedding.class_sums(x, torch::zeros({1}, torch::kInt64)).norm().item<double>();
    EXPECT_NEAR(norm, 1.0, 1e-5) << size;
  }
}

TEST(FourierEmbedding, LabelsOutsideTheClassesAreRefused) {
  const FourierEmbedding embedding(torch::ones({4, 3}), 2);
  for (const int bad : {-1, 2}) {
    test::expect_error(ExitCode::kInvariant, {"is not in 0..1"}, [&] {
      embedding.class_sums(torch::zeros({1, 3}), torch::full({1}, bad, torch::kInt64));
    });
  }
  EXPECT_THROW(embedding.class_sums(torch::zeros({1, 4}), torch::zeros({1}, torch::kInt64)), InvariantError);
}

}  // namespace
}  // namespace muffle::model
