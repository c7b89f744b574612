// Columns that are computed from others of their row: read, drawn and compared, and no attack's help.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "muffle/core/files.hpp"
#include "muffle/schema/table_toml.hpp"
#include "report/results.hpp"
#include "report/sections.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::report {
namespace {

constexpr const char* kStays = R"toml(
[[columns]]
name = "age"
type = "integer"
derive = "years(admitted - born)"
missing = [""]
[[columns]]
name = "born"
type = "date"
lo = 1950-01-01
hi = 1999-12-31
[[columns]]
name = "admitted"
type = "date"
lo = 2020-01-01
hi = 2020-12-31
missing = [""]
[[columns]]
name = "house"
type = "category"
values = ["west", "east"]
determined_by = "ward"
from = { east = ["surgery"], west = ["geriatrics"] }
[[columns]]
name = "ward"
type = "category"
values = ["surgery", "geriatrics"]
[[columns]]
name = "died"
type = "boolean"
values = ["no", "yes"]
role = "label"
)toml";

class DerivedColumns : public testing::Test {
 protected:
  Rows read(const std::string& rows) {
    write_file_atomically(folder_ / "stays.csv", "age,born,admitted,house,ward,died\n" + rows);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = "stays.csv";
    describe_table(spec.schema, std::make_shared<const schema::Table>(schema::parse_table_toml(kStays, "s")));
    return read_rows(spec, {});
  }

  const muffle::test::TemporaryFolder folder_;
};

TEST_F(DerivedColumns, AreComputedAndStandBehindTheOthers) {
  // What the file says of them is not looked at here.
  const Rows rows = read(
      "7,1980-06-15,2020-06-14,west,surgery,no\n40,1980-06-15,2020-06-15,west,geriatrics,yes\n"
      ",1980-06-15,,east,surgery,no\n");
  std::vector<std::string> names;
  for (const Column& column : rows.columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"born", "admitted", "ward", "died", "age", "house"}));
  EXPECT_TRUE(rows.columns[4].follows && rows.columns[5].follows && !rows.columns[3].follows);
  EXPECT_TRUE(rows.columns[4].may_be_missing);
  EXPECT_EQ(rows.values[4][0], 39);
  EXPECT_EQ(rows.values[4][1], 40);
  EXPECT_TRUE(std::isnan(rows.values[4][2]));
  EXPECT_EQ(rows.values[5], (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(rows.columns[5].categories[1], "east");
}

TEST_F(DerivedColumns, AreScoredAndTellAttackersNothingMore) {
  std::string real, others;
  for (int i = 0; i < 240; ++i) {
    const std::string row = ",19" + std::to_string(50 + i * 7 % 50) + "-0" + std::to_string(1 + i % 9) +
                            "-11,2020-0" + std::to_string(1 + i * 5 % 9) + "-03,,";
    real += row + (i % 2 == 0 ? "surgery" : "geriatrics") + (i % 3 == 0 ? ",no\n" : ",yes\n");
    others += row + (i % 5 == 0 ? "surgery" : "geriatrics") + (i % 7 == 0 ? ",no\n" : ",yes\n");
  }
  const Rows rows = read(real), held_out = read(others);
  Rows without = rows, held_without = held_out;
  for (Rows* some : {&without, &held_without}) {
    some->columns.resize(4);
    some->values.resize(4);
  }
  const TableScores scores = score_table(rows, held_out, held_out, {});
  EXPECT_EQ(scores.all.size(), 15u) << "all pairs of six columns";
  const auto age_and_house =
      std::ranges::find_if(scores.all, [](const auto& p) { return p.a == 4 && p.b == 5; });
  ASSERT_NE(age_and_house, scores.all.end());
  EXPECT_GT(age_and_house->apart, 0.2);
  const Disclosure all = attack(rows, held_out, held_out, {}),
                   of_records = attack(without, held_without, held_without, {});
  ASSERT_EQ(all.attacks.size(), of_records.attacks.size());
  ASSERT_FALSE(all.attacks.empty());
  for (std::size_t k = 0; k < all.attacks.size(); ++k)
    EXPECT_EQ(all.attacks[k].area.value, of_records.attacks[k].area.value);
  EXPECT_EQ(all.to_members, of_records.to_members);
  ASSERT_EQ(all.inferences.size(), of_records.inferences.size());
  for (std::size_t k = 0; k < all.inferences.size(); ++k) {
    EXPECT_EQ(all.inferences[k].column, of_records.inferences[k].column) << "the house is guessed by nobody";
    EXPECT_EQ(all.inferences[k].of_held_out.value, of_records.inferences[k].of_held_out.value);
  }
}

TEST_F(DerivedColumns, PeopleBornAfterTheirAdmissionAreNamedInTheSummary) {
  PublicMaterial m;
  m.verification.artifact.emplace().is_private = false;
  m.verification.artifact->schema.table =
      std::make_shared<const schema::Table>(schema::parse_table_toml(kStays, "s"));
  const auto summary = [&](const std::string& rows) {
    m.samples = read(rows);
    Page page;
    public_summary(m, page);
    return page.html();
  };
  EXPECT_EQ(summary(",1999-06-15,2020-06-14,,surgery,no\n").find("is negative"), std::string::npos);
  const std::string rows = ",1999-06-15,2020-06-14,,surgery,no\n,1999-06-15,2020-06-14,,surgery,yes\n";
  m.samples = read(rows);
  m.samples->values[4] = {-1, 21};
  Page page;
  public_summary(m, page);
  EXPECT_NE(
      page.html().find("In 1 of 2 synthetic rows &#39;age&#39; is negative: &#39;admitted&#39; lies before"),
      std::string::npos)
      << page.html();
  // What could follow is far wider than what does: the axis is that of the rows.
  EXPECT_EQ(Bins::to_draw(m.samples->columns[4], m.samples->values[4]).ticks().front(), "-1");
}

}  // namespace
}  // namespace muffle::report
