// A network beside the closed form, and the moments that it is trained on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/block_spec.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/moments_embedding.hpp"
#include "muffle/model/moments_generator.hpp"
#include "muffle/model/moments_model.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kRecords = 40;

/// A closed form of 3 classes with means and factors of no symmetry.
MomentsModel closed_form(bool image) {
  MomentsModel m;
  m.info.spec.kind = GeneratorKind::kMoments;
  m.info.spec.schema.shape = image ? std::vector<std::size_t>{2, 8, 12} : std::vector<std::size_t>{5};
  m.info.spec.schema.classes = 3;
  m.info.spec.plain_share = 0.4;
  m.info.class_share = {0.5, 0.25, 0.25};
  m.lift = features::resolved(
      {.kind = image ? features::MomentLiftKind::kImage : features::MomentLiftKind::kVector,
       .shape = m.info.spec.schema.shape,
       .coefficients = image ? std::size_t{3} : std::size_t{0}});
  const auto n = static_cast<Eigen::Index>(features::moments_order(m.lift) - 1);
  const CounterStream random(3, Stream::kTest);
  std::uint64_t next = 0;
  for (int c = 0; c < 3; ++c) {
    Eigen::VectorXd& mean = m.mean.emplace_back(n);
    Eigen::MatrixXd& factor = m.factor.emplace_back(n, n);
    for (Eigen::Index i = 0; i < n; ++i) mean(i) = 0.3 * random.normal(next++);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) factor(i, j) = 0.2 * random.normal(next++);
    }
  }
  return m;
}

GeneratorSpec beside(const MomentsModel& m, GeneratorKind kind) {
  GeneratorSpec spec;
  spec.kind = kind;
  spec.residual = true;
  spec.code = features::moments_order(m.lift) - 1;
  spec.hidden = {7};
  spec.channels = {4, 3};
  spec.plain_share = m.info.spec.plain_share;
  spec.schema = m.info.spec.schema;
  return spec;
}

std::vector<GeneratorKind> kinds_for(bool image) {
  if (image) return {GeneratorKind::kFullyConnected, GeneratorKind::kConvolutional};
  return {GeneratorKind::kFullyConnected};
}

TEST(ResidualGenerator, DrawsTheClosedFormsVeryRecordsAtFirst) {
  for (const bool image : {false, true}) {
    const MomentsModel closed = closed_form(image);
    const Tensor labels = torch::arange(kRecords) % 3;
    const std::size_t d = closed.info.spec.schema.dims();
    std::vector<float> expected(kRecords * d);
    make_moments_generator(closed)->draw(9, 1000, std::span(labels.data_ptr<std::int64_t>(), kRecords),
                                         expected);
    for (const GeneratorKind kind : kinds_for(image)) {
      const auto generator = make_generator(beside(closed, kind), 1, nullptr);
      generator->set_closed_form(closed);
      generator->eval();
      const Tensor codes = generator->codes(9, /*training=*/false, 0, 1000, kRecords);
      const Tensor drawn = generator->forward(codes, labels).contiguous();
      const Tensor wanted = torch::tensor(expected).view_as(drawn);
      EXPECT_LT((drawn - wanted).abs().max().item<double>(), 2e-5) << image;
      EXPECT_GT(wanted.std().item<double>(), 0.05);
      // Both laws of a record's numbers occur.
      const Tensor plain = codes.narrow(1, codes.size(1) - 1, 1) < 0.4;
      EXPECT_TRUE(plain.any().item<bool>() && !plain.all().item<bool>());
      // Training draws other records, each by its own coin.
      EXPECT_FALSE(torch::equal(codes, generator->codes(9, true, 0, 1000, kRecords)));
      EXPECT_FALSE(torch::equal(generator->codes(9, true, 1, 1000, kRecords),
                                generator->codes(9, true, 0, 1000, kRecords)));
    }
  }
}

TEST(ResidualGenerator, TheNetworkAddsToTheClosedFormAndLearnsFromTheStart) {
  const MomentsModel closed = closed_form(true);
  for (const GeneratorKind kind : kinds_for(true)) {
    const auto generator = make_generator(beside(closed, kind), 1, nullptr);
    generator->set_closed_form(closed);
    const Tensor labels = torch::arange(kRecords) % 3, codes = generator->codes(9, true, 0, 0, kRecords);
    generator->forward(codes, labels).square().sum().backward();
    // The last layer's gradient is what ends the start at 0; nothing of the closed form is trained.
    double largest = 0;
    for (const auto& p : generator->named_parameters()) {
      EXPECT_FALSE(p.key().starts_with("closed_form")) << p.key();
      if (p.value().grad().defined())
        largest = std::max(largest, p.value().grad().abs().max().item<double>());
    }
    EXPECT_GT(largest, 1e-3);
    const Tensor before = generator->forward(codes, labels).detach();
    {
      const torch::NoGradGuard no_grad;
      for (auto& p : generator->named_parameters()) {
        if (p.key() == "out.bias" || p.key() == "conv1.bias") p.value().fill_(0.1);
      }
    }
    const Tensor after = generator->forward(codes, labels).detach();
    const Tensor inside = (before > 0.01) & (before < 0.89);
    EXPECT_GT(inside.sum().item<std::int64_t>(), 100);
    EXPECT_LT((after - before - 0.1).masked_select(inside).abs().max().item<double>(), 1e-6);
    EXPECT_LE(after.max().item<double>(), 1.0);
  }
}

TEST(ResidualGenerator, ItsFileHoldsTheClosedFormAndTheChoice) {
  const test::TemporaryFolder folder;
  for (const bool image : {false, true}) {
    const MomentsModel closed = closed_form(image);
    for (const GeneratorKind kind : kinds_for(image)) {
      ModelInfo info = closed.info;
      info.spec = beside(closed, kind);
      info.choice = ProxyChoice{true, 2e-3, 1e-3, 1e-4, 2e-4};
      const auto generator = make_generator(info.spec, 1, nullptr);
      generator->set_closed_form(closed);
      generator->eval();
      save_model(folder / "model.mfl", info, *generator);
      const auto [again, loaded] = load_model(folder / "model.mfl");
      EXPECT_EQ(again.choice, info.choice);
      EXPECT_TRUE(again.spec.residual);
      EXPECT_EQ(again.spec.plain_share, info.spec.plain_share);
      const Tensor labels = torch::arange(kRecords) % 3, codes = generator->codes(1, false, 0, 0, kRecords);
      EXPECT_TRUE(torch::equal(loaded->codes(1, false, 0, 0, kRecords), codes));
      EXPECT_TRUE(torch::equal(loaded->forward(codes, labels), generator->forward(codes, labels)));
    }
  }
  GeneratorSpec wrong = beside(closed_form(true), GeneratorKind::kFullyConnected);
  wrong.code += 1;
  EXPECT_THROW(make_generator(wrong, 1, nullptr), ConfigError);
}

/// Records in [0, 1] and labels.
struct Batch {
  Tensor x, labels;
};

Batch batch(const MomentsModel& model) {
  const auto d = static_cast<std::int64_t>(model.info.spec.schema.dims());
  const CounterStream random(4, Stream::kTest);
  Tensor x = torch::empty({kRecords, d}, torch::kFloat32);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data_ptr<float>()[i] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)));
  return {x, torch::arange(kRecords) % 3};
}

/// What the released block makes of the same records, in lattice units.
TEST(MomentsEmbedding, SumsAreTheReleasedBlocks) {
  for (const bool image : {false, true}) {
    const MomentsModel model = closed_form(image);
    const Batch b = batch(model);
    const auto block = features::make_block({model.lift}, {});
    std::vector<std::uint64_t> sums(3 * block->features());
    const auto workspace = block->make_workspace();
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < kRecords; ++i) labels.push_back(static_cast<std::int32_t>(i % 3));
    ASSERT_LE(kRecords, static_cast<std::int64_t>(block->tile()));
    block->accumulate(b.x.data_ptr<float>(), labels.data(), kRecords, *workspace, sums);
    const MomentsEmbedding embedding(model.lift, 3, torch::TensorOptions(torch::kFloat64));
    const Tensor ours = embedding.class_sums(b.x.to(torch::kFloat64), b.labels);
    const std::size_t q = features::moments_order(model.lift);
    const double scale = features::moments_scale(model.lift) * features::moments_scale(model.lift);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < q; ++i) {
        for (std::size_t j = 0; j < q; ++j) {
          const auto released =
              static_cast<std::int64_t>(sums[c * block->features() + features::moments_index(q, i, j)]);
          EXPECT_NEAR(ours[static_cast<std::int64_t>(c)][static_cast<std::int64_t>(i * q + j)].item<double>(),
                      static_cast<double>(released) / scale, 2e-4);
        }
      }
    }
  }
}

/// The gradient through z^T R z is that through all D expanded features, those beside the diagonal by
/// sqrt(2).
TEST(MomentsEmbedding, GradientIsTheExpandedFeatures) {
  for (const bool image : {false, true}) {
    const MomentsModel model = closed_form(image);
    const Batch b = batch(model);
    const MomentsEmbedding embedding(model.lift, 3, torch::TensorOptions(torch::kFloat64));
    const Tensor x = b.x.to(torch::kFloat64).clone().requires_grad_();
    const Tensor target = 0.3 * torch::ones({3, embedding.features()}, torch::kFloat64);
    (embedding.class_sums(x, b.labels) / kRecords - target).square().sum().backward();
    const Tensor matrix_gradient = x.grad().clone();
    x.mutable_grad().zero_();

    // One record at a time: its sums are its own z z^T.
    const auto q = static_cast<std::int64_t>(features::moments_order(model.lift));
    std::vector<std::int64_t> at;
    std::vector<double> weight;
    for (std::int64_t i = 0; i < q; ++i) {
      for (std::int64_t j = i; j < q; ++j) {
        at.push_back(i * q + j);
        weight.push_back(i == j ? 1.0 : std::sqrt(2.0));
      }
    }
    const Tensor places = torch::tensor(at), weights = torch::tensor(weight, torch::kFloat64);
    Tensor mean = torch::zeros({3, places.size(0)}, torch::kFloat64);
    for (std::int64_t r = 0; r < kRecords; ++r) {
      const std::int64_t c = r % 3;
      const Tensor own = embedding.class_sums(x.narrow(0, r, 1), b.labels.narrow(0, r, 1))[c];
      const Tensor phi = own.index_select(0, places) * weights / kRecords;
      EXPECT_NEAR(phi.detach().norm().item<double>() * kRecords, 1.0, 1e-12);
      mean = mean.index_add(0, torch::tensor({c}), phi.unsqueeze(0));
    }
    (mean - 0.3 * weights).square().sum().backward();
    EXPECT_LT((x.grad() - matrix_gradient).abs().max().item<double>(), 1e-14);
    EXPECT_GT(matrix_gradient.abs().max().item<double>(), 1e-5);
  }
}

TEST(MomentsEmbedding, NoRecordsMakeZeroSums) {
  const MomentsModel model = closed_form(false);
  const MomentsEmbedding embedding(model.lift, 3, torch::TensorOptions(torch::kFloat32));
  const Tensor sums = embedding.class_sums(torch::zeros({0, 5}), torch::zeros({0}, torch::kInt64));
  EXPECT_EQ(sums.sizes(), (std::vector<std::int64_t>{3, 36}));
  EXPECT_EQ(sums.abs().max().item<double>(), 0.0);
}

}  // namespace
}  // namespace muffle::model
