#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "muffle/core/philox.hpp"
#include "muffle/schema/table_toml.hpp"
#include "muffle/synth/moved_rows.hpp"
#include "support/expect_error.hpp"
#include "synth/draw_tile.hpp"

namespace muffle::synth {
namespace {

constexpr const char* kStays = R"(
[[columns]]
name = "from"
type = "integer"
lo = 0
hi = 99
bins = 10
[[columns]]
name = "until"
type = "integer"
lo = 0
hi = 99
bins = 10
[[columns]]
name = "ill"
type = "boolean"
role = "label"
[[constraints]]
kind = "compare"
left = "from"
op = "<="
right = "until"
)";

/// Positions without any law between them, so that half of the rows break the rule.
class Careless : public sampling::Sampler {
 public:
  explicit Careless(bool finite = true) : finite_(finite) {}
  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t>,
                    std::span<float> out, std::span<const sampling::Departure>) const override {
    const CounterStream stream(seed, Stream::kSampleFinish);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(stream.uniform(first * 2 + i));
    if (!finite_) out[3] = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  bool finite_;
};

/// Two lists move one column, and none of its values goes with (gyn, male).
constexpr const char* kWards = R"(
[[columns]]
name = "ward"
type = "category"
values = ["gyn", "uro"]
[[columns]]
name = "sex"
type = "category"
values = ["male", "female"]
[[columns]]
name = "icd"
type = "category"
values = ["O80", "N40"]
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 99
[[columns]]
name = "ill"
type = "boolean"
role = "label"
[[combinations]]
columns = ["ward", "icd"]
allowed = [["gyn", "O80"], ["uro", "N40"]]
[[combinations]]
columns = ["sex", "icd"]
allowed = [["male", "N40"], ["female", "O80"]]
)";

Draw draw_of(bool rules, bool finite = true, const char* schema = kStays) {
  Draw draw;
  describe_table(draw.info.schema,
                 std::make_shared<const schema::Table>(schema::parse_table_toml(schema, "s")));
  draw.sampler = std::make_shared<Careless>(finite);
  draw.class_share = {0.5, 0.5};
  draw.spec.count = 3 * kTileRecords + 7;
  if (rules) draw.rules = std::make_shared<const schema::RowRules>(*draw.info.schema.table);
  return draw;
}

std::size_t broken_rows(const Draw& draw) {
  const schema::RowRules rules(*draw.info.schema.table);
  std::size_t broken = 0;
  for (std::uint64_t tile = 0; tile < draw.tiles(); ++tile) {
    const std::string bytes = draw_tile(draw, tile);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    for (std::size_t r = 0; r < numbers.size() / 2; ++r) {
      const std::vector<schema::Cell> row{schema::cell_at(numbers[2 * r], 10),
                                          schema::cell_at(numbers[2 * r + 1], 10), schema::Cell{}};
      broken += rules.broken(row) ? 1 : 0;
    }
  }
  return broken;
}

TEST(Rows, EveryRowThatIsWrittenKeepsTheRules) {
  EXPECT_GT(broken_rows(draw_of(false)), 500u) << "or the test shows nothing";
  EXPECT_EQ(broken_rows(draw_of(true)), 0u);
}

// As a network's are: of each row only what is listed changes.
TEST(Rows, CombinationsAreKeptByAnyGeneratorsRowsAndNothingElseOfThemChanges) {
  const Draw kept = draw_of(true, true, kWards), careless = draw_of(false, true, kWards);
  ASSERT_TRUE(kept.rules->contradiction().empty());
  std::size_t broken = 0;
  for (std::uint64_t tile = 0; tile < kept.tiles(); ++tile) {
    const auto numbers_of = [&](const Draw& draw) {
      const std::string bytes = draw_tile(draw, tile);
      std::vector<float> numbers(bytes.size() / sizeof(float));
      std::memcpy(numbers.data(), bytes.data(), bytes.size());
      return numbers;
    };
    std::vector<float> before = numbers_of(careless), after = numbers_of(kept);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t r = 0; r < after.size() / 4; ++r) {
      broken += kept.rules->all_broken(std::span(before).subspan(4 * r, 4), 0).empty() ? 0 : 1;
      ASSERT_TRUE(kept.rules->all_broken(std::span(after).subspan(4 * r, 4), 0).empty());
      ASSERT_EQ(before[4 * r], after[4 * r]) << "the ward";
      ASSERT_EQ(before[4 * r + 3], after[4 * r + 3]) << "the age";
    }
  }
  EXPECT_GT(broken, 500u);
}

TEST(Rows, RulesThatMoveManyRowsAreNamedFromTheModelAlone) {
  const Draw draw = draw_of(false);
  model::Model model{draw.info, draw.sampler};
  model.info.class_share = draw.class_share;
  const std::vector<double> shares = moved_shares(model);
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_NEAR(shares[0], 0.495, 0.04) << "of two independent numbers";
  EXPECT_THAT(moving_rules(model), testing::ElementsAre(testing::AllOf(
                                       testing::HasSubstr("constraint 1 (of 'from', 'until') moves"),
                                       testing::HasSubstr("% of the rows"))));
  // A rule that nearly all rows keep, and no rule.
  auto table = std::make_shared<schema::Table>(*model.info.schema.table);
  table->constraints[0] = {
      schema::Constraint::Kind::kCompare, {0}, schema::Constraint::Op::kAtMost, 98.0, {}, {}};
  model.info.schema.table = table;
  EXPECT_NEAR(moved_shares(model).at(0), 0.01, 0.009);
  EXPECT_THAT(moving_rules(model), testing::IsEmpty());
  table = std::make_shared<schema::Table>(*table);
  table->constraints.clear();
  model.info.schema.table = table;
  EXPECT_THAT(moved_shares(model), testing::IsEmpty());
}

TEST(Rows, NumbersThatAreNotFiniteEndTheSamplingFirst) {
  muffle::test::expect_error(ExitCode::kInvariant, {"not finite", "sample 1"},
                             [] { (void)draw_tile(draw_of(true, false), 0); });
}

TEST(Rows, FinishingIsNotForTables) {
  const schema::Schema table = draw_of(false).info.schema;
  for (double SampleSpec::*const setting :
       {&SampleSpec::floor, &SampleSpec::outliers, &SampleSpec::mixed, &SampleSpec::stray}) {
    SampleSpec spec{.formats = {}};
    settings::Problems none, found;
    problems(spec, table, {}, none);
    EXPECT_TRUE(none.empty());
    spec.*setting = 0.1;
    problems(spec, table, {}, found);
    EXPECT_THAT(found.take(), testing::ElementsAre(testing::HasSubstr("sample.mixed")));
  }
}

TEST(Rows, OnlyImagesAreSharpened) {
  schema::Schema of_numbers;
  of_numbers.shape = {5};
  schema::Schema images;
  images.shape = {1, 5, 5};
  SampleSpec spec{.formats = {}};
  spec.sharpen = 1;
  settings::Problems none, vectors, tables;
  problems(spec, images, {}, none);
  EXPECT_TRUE(none.empty());
  problems(spec, of_numbers, {}, vectors);
  EXPECT_THAT(vectors.take(), testing::ElementsAre(testing::HasSubstr("sample.sharpen")));
  problems(spec, draw_of(false).info.schema, {}, tables);
  EXPECT_THAT(tables.take(), testing::ElementsAre(testing::HasSubstr("sample.sharpen")));
}

}  // namespace
}  // namespace muffle::synth
