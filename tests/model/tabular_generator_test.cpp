// What is peculiar to the network for tables.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "muffle/features/mixed.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/map_twin.hpp"
#include "muffle/schema/table.hpp"
#include "support/expect_error.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kRows = 4000;

/// A number, one that may be missing, and two categories.
class TabularGenerator : public ::testing::Test {
 protected:
  TabularGenerator() {
    const torch::NoGradGuard no_grad;
    generator_->forward(generator_->codes(1, true, 0, 0, kRows), labels_);  // moves the running statistics
    generator_->eval();
  }

  const schema::Schema schema_ = test::table_schema({4, 5, 3, 6}, 3, 2);
  const features::MixedLayout layout_{*schema_.table};
  const std::shared_ptr<Generator> generator_ =
      test::network("tabular", {{"hidden", {30}}})->build(schema_, 4, nullptr);
  const Tensor labels_ = torch::arange(kRows) % 3;
};

TEST_F(TabularGenerator, MakesNumbersAndProbabilities) {
  const Tensor made = generator_->forward(generator_->codes(1, true, 5, 0, kRows), labels_);
  ASSERT_EQ(made.sizes(), (std::vector<std::int64_t>{kRows, static_cast<std::int64_t>(layout_.width())}));
  EXPECT_GE(made.min().item<float>(), 0.0f);
  EXPECT_LE(made.max().item<float>(), 1.0f);
  for (const features::MixedLayout::Category& c : layout_.categories) {
    const Tensor all = made.narrow(1, static_cast<std::int64_t>(layout_.numbers.size() + c.first),
                                   static_cast<std::int64_t>(c.entries));
    EXPECT_LT((all.sum(1) - 1.0).abs().max().item<float>(), 1e-5f);
  }
}

/// Drawn rows have the numbers that the network made, and on average its probabilities.
TEST_F(TabularGenerator, DrawsRowsOfTheRelaxedRecords) {
  const torch::NoGradGuard no_grad;
  const Tensor codes = generator_->codes(9, false, 0, 70, kRows);
  const Tensor made = generator_->forward(codes, labels_), rows = generator_->draw(codes, labels_);
  ASSERT_EQ(rows.sizes(), (std::vector<std::int64_t>{kRows, 4}));
  Tensor drawn = torch::zeros_like(made);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const float* const row = rows.data_ptr<float>() + i * 4;
    ASSERT_TRUE(layout_.are_positions(row));
    float* const entries = drawn.data_ptr<float>() + i * drawn.size(1) + layout_.numbers.size();
    for (const features::MixedLayout::Category& c : layout_.categories)
      entries[c.first + c.entry(row[c.column])] = 1.0f;
    EXPECT_NEAR(layout_.numbers[0].number(row[0]), made[i][0].item<double>(), 1e-5);
    const bool missing = layout_.categories[0].entry(row[1]) == 1;
    EXPECT_NEAR(layout_.numbers[1].number(row[1]), missing ? 0.5 : made[i][1].item<double>(), 1e-5);
  }
  const auto first = static_cast<std::int64_t>(layout_.numbers.size()),
             entries = static_cast<std::int64_t>(layout_.entries);
  const Tensor expected = made.narrow(1, first, entries), got = drawn.narrow(1, first, entries);
  const Tensor deviation = (expected * (1 - expected)).sum(0).sqrt();
  EXPECT_LT(((got - expected).sum(0) / deviation).abs().max().item<float>(), 4.5f);
  EXPECT_GT(got.mean(0).min().item<float>(), 0.0f);
  // Independent of the codes and of one another: residuals of two columns do not go together.
  const Tensor residual = got - expected;
  const double together = (residual.select(1, 0) * residual.select(1, 2)).mean().item<double>();
  EXPECT_LT(std::fabs(together), 4.5 * 0.25 / std::sqrt(static_cast<double>(kRows)));
}

/// Adam steps on the released sums bring the relaxed records' embedding to them.
TEST_F(TabularGenerator, LearnsWhatItsMapsSay) {
  generator_->train();
  const auto twin = make_twin(*test::make_map("one-hot", {}, schema_), {3, torch::TensorOptions()});
  const auto numbers =
      make_twin(*test::make_map("table-rff", {{"count", "64"}, {"length_scale", "0.3"}}, schema_),
                {3, torch::TensorOptions()});
  Tensor wanted = torch::zeros({300, static_cast<std::int64_t>(layout_.width())});
  const Tensor labels = torch::arange(300) % 3;
  for (std::int64_t i = 0; i < 300; ++i) {  // label 0: low, category 0; label 2: high, the last ones
    wanted[i][0] = 0.2 + 0.3 * static_cast<double>(i % 3), wanted[i][1] = 0.6;
    for (const features::MixedLayout::Category& c : layout_.categories)
      wanted[i][static_cast<std::int64_t>(layout_.numbers.size() + c.first) +
                (i % 3) % static_cast<std::int64_t>(c.entries)] = 1.0;
  }
  const Tensor of_entries = twin->class_sums(wanted, labels),
               of_numbers = numbers->class_sums(wanted, labels);
  torch::optim::Adam adam(generator_->parameters(), torch::optim::AdamOptions(0.01));
  double first = 0, last = 0;
  for (std::uint32_t step = 0; step < 150; ++step) {
    adam.zero_grad();
    const Tensor made = generator_->forward(generator_->codes(3, true, step, 0, 300), labels);
    const Tensor loss = (twin->class_sums(made, labels) - of_entries).square().sum() +
                        (numbers->class_sums(made, labels) - of_numbers).square().sum();
    loss.backward();
    adam.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.02 * first);
}

TEST(TabularSettings, SayWhatTheyNeed) {
  settings::Problems problems;
  test::network("tabular")->problems(nullptr, problems);
  EXPECT_TRUE(problems.empty());
  const schema::Schema vectors = test::schema_of({4}), table = test::table_schema({3, 2}, 2);
  test::network("tabular")->problems(&vectors, problems);
  EXPECT_NE(problems.take().at(0).find("data.schema"), std::string::npos);
  test::network("tabular")->beside(3)->problems(&table, problems);
  EXPECT_NE(problems.take().at(0).find("train.init"), std::string::npos);
}

}  // namespace
}  // namespace muffle::model
