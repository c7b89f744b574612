// A network beside the closed form.
#include <gtest/gtest.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/moments/moments_model.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kRecords = 40;

struct ClosedForm {
  schema::Schema schema;
  MomentsModel model;
};

/// Of 3 classes with means and factors of no symmetry.
ClosedForm closed_form(bool image) {
  ClosedForm out{image ? test::schema_of({2, 8, 12}, 3) : test::schema_of({5}, 3), {}};
  MomentsModel& m = out.model;
  m.plain_share = 0.4;
  m.moments =
      test::make_moments(image ? test::MapKeys{{"lift", "image"}, {"coefficients", "3"}} : test::MapKeys{},
                         out.schema)
          ->second_moments()
          ->moments();
  const auto n = static_cast<Eigen::Index>(m.moments.lift->coefficients());
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
  return out;
}

/// Small networks beside it, of every kind that takes such records.
std::vector<std::shared_ptr<const NetworkSettings>> beside(const ClosedForm& closed) {
  std::vector<std::shared_ptr<const NetworkSettings>> out;
  for (const GeneratorKind& kind : generator_kinds()) {
    const std::unique_ptr<GeneratorSettings> settings = kind.make();
    if (settings->network() == nullptr) continue;
    settings::Problems problems;
    settings->network()
        ->beside(closed.model.moments.lift->coefficients())
        ->problems(&closed.schema, problems);
    if (!problems.empty()) continue;
    out.push_back(
        test::network(std::string(kind.name), {{"hidden", {7}}, {"plain_share", closed.model.plain_share}})
            ->beside(closed.model.moments.lift->coefficients()));
  }
  return out;
}

TEST(ResidualGenerator, DrawsTheClosedFormsVeryRecordsAtFirst) {
  for (const bool image : {false, true}) {
    const ClosedForm closed = closed_form(image);
    const Tensor labels = torch::arange(kRecords) % 3;
    const std::size_t d = closed.schema.dims();
    std::vector<float> expected(kRecords * d);
    moments::make_sampler(closed.model)
        ->draw(9, 1000, std::span(labels.data_ptr<std::int64_t>(), kRecords), expected);
    for (const auto& network : beside(closed)) {
      const auto generator = network->build(closed.schema, 1, nullptr);
      generator->set_closed_form(closed.model);
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
  const ClosedForm closed = closed_form(true);
  for (const auto& network : beside(closed)) {
    const auto generator = network->build(closed.schema, 1, nullptr);
    generator->set_closed_form(closed.model);
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
        if (p.key() == "out.bias" || p.key() == "conv1.bias" || p.key() == "last.bias") p.value().fill_(0.1);
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
    const ClosedForm closed = closed_form(image);
    for (const auto& network : beside(closed)) {
      const ModelInfo info{network, closed.schema, {0.5, 0.25, 0.25}, "release", "train"};
      const auto generator = network->build(closed.schema, 1, nullptr);
      generator->set_closed_form(closed.model);
      generator->eval();
      save_model(folder / "model.mfl", info, content_of(*generator));
      const Model loaded = parse_model(read_file(folder / "model.mfl"), "model.mfl");
      EXPECT_EQ(loaded.info.generator->to_json(), network->to_json());
      const Tensor labels = torch::arange(kRecords) % 3, codes = generator->codes(1, false, 0, 0, kRecords);
      const Tensor made = generator->forward(codes, labels);
      std::vector<float> drawn(static_cast<std::size_t>(made.numel()));
      loaded.sampler->draw(1, 0, std::span(labels.data_ptr<std::int64_t>(), kRecords), drawn);
      EXPECT_TRUE(torch::equal(torch::tensor(drawn).view_as(made), made));
    }
  }
  const ClosedForm image = closed_form(true);
  const auto wrong = test::network("fully-connected")->beside(image.model.moments.lift->coefficients() + 1);
  EXPECT_THROW(wrong->build(image.schema, 1, nullptr), ConfigError);
}

}  // namespace
}  // namespace muffle::model
