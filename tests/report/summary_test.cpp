// What a summary calls good and bad.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "muffle/privacy/accountant.hpp"
#include "report/judgement.hpp"
#include "report/rules.hpp"
#include "report/sections.hpp"

namespace muffle::report {
namespace {

constexpr const char* kBad = "What is not";

class SummaryTest : public testing::Test {
 protected:
  SummaryTest() { m_.verification.artifact.emplace().is_private = false; }

  /// Whether the summary has this among what is bad.
  bool is_bad(const std::string& text) {
    Page page;
    private_summary(m_, real_, page);
    const std::string& html = page.html();
    EXPECT_NE(html.find(text), std::string::npos) << html;
    return html.find(text) > html.find(kBad);
  }

  PublicMaterial m_;
  PrivateMaterial real_;
};

TableScores scores(double pairs, double independent, double held_out) {
  TableScores out;
  out.shapes = 0.99;
  out.held_out_shapes = 0.995;
  out.pairs = pairs;
  out.independent_pairs = independent;
  out.held_out_pairs = held_out;
  out.all.emplace_back();
  return out;
}

TEST_F(SummaryTest, PairsAreJudgedBetweenFloorAndCeiling) {
  real_.scores = scores(0.901, 0.900, 0.98);
  EXPECT_TRUE(is_bad("Pairs of columns: 0.901"));
  real_.scores = scores(0.97, 0.900, 0.98);
  EXPECT_FALSE(is_bad("Pairs of columns: 0.970"));
  real_.scores = scores(0.89, 0.900, 0.98);
  EXPECT_TRUE(is_bad("no better than none"));
  real_.scores = scores(0.95, 0.94, 0.93);
  EXPECT_TRUE(is_bad("too little in pairs"));
}

TEST_F(SummaryTest, ImagesAreJudgedBetweenGuessesAndRealOnes) {
  m_.verification.artifact->schema.classes = 10;
  m_.samples.emplace();
  EXPECT_TRUE(is_bad("nobody has measured"));
  real_.metrics = nlohmann::json::parse(
      R"({"classifiers": {"cnn": {"accuracy": 0.46}, "mlp": {"accuracy": 0.40}, "odd": 7}})");
  EXPECT_TRUE(is_bad("(cnn) that learns from the synthetic records finds the class of 46.0 %"));
  EXPECT_TRUE(is_bad("where guessing finds 10.0 %; how many after learning from real ones was not measured"));
  real_.metrics["classifiers_trained_on_real"]["cnn"]["accuracy"] = 0.82;
  EXPECT_TRUE(is_bad("and learning from real ones 82.0 %: 50 % of the way"));
  real_.metrics["classifiers"]["cnn"]["accuracy"] = 0.80;
  EXPECT_FALSE(is_bad("97 % of the way"));
}

TEST_F(SummaryTest, TablesAreJudgedByWhatClassifiersLearnOfTheirLabel) {
  std::vector<std::string> good, bad;
  const auto judged = [&](const nlohmann::json& metrics) {
    good.clear();
    bad.clear();
    judge_table_classifiers(metrics, good, bad);
  };
  judged(nullptr);
  EXPECT_EQ(good.size(), 0u);
  EXPECT_NE(bad.at(0).find("nobody has measured"), std::string::npos);
  nlohmann::json metrics = nlohmann::json::parse(R"({"table_classifiers": {
      "mean": {"roc_auc": 0.8, "roc_auc_hard": 0.5}, "gaussian_nb": {"roc_auc": 0.8, "roc_auc_hard": 0.52},
      "mlp": {"roc_auc": 0.8, "roc_auc_hard": 0.7}, "lda": {"roc_auc_hard": 0.51}, "odd": 3}})");
  judged(metrics);
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_NE(bad[0].find("0.800, where guessing has 0.5; how well"), std::string::npos) << bad[0];
  EXPECT_NE(bad[1].find("coin's): gaussian_nb, lda."), std::string::npos) << bad[1];
  metrics["table_classifiers_trained_on_real"] = {{"mean", {{"roc_auc", 0.85}}},
                                                  {"gaussian_nb", {{"roc_auc_hard", 0.8}}},
                                                  {"lda", {{"roc_auc_hard", 0.54}}}};
  judged(metrics);
  ASSERT_EQ(good.size(), 1u);
  EXPECT_NE(good[0].find("real ones 0.850: 86 % of the way"), std::string::npos) << good[0];
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_NE(bad[0].find("coin's): gaussian_nb."), std::string::npos)
      << "lda learns nothing of real ones either";
  metrics["table_classifiers"]["mean"]["roc_auc"] = 0.7;
  judged(metrics);
  EXPECT_TRUE(good.empty());
}

TEST_F(SummaryTest, SharesOfOneColumnHaveEquallyManyDecimals) {
  m_.samples.emplace();
  real_.metrics = nlohmann::json::parse(R"({"findings": {"odd": {"tables": [{"title": "t",
      "columns": ["share", "size", "known"],
      "rows": [["a", 0.02, 4430.0, 1.0], ["b", 0.0333, 1.17, null], ["c", 1.0, 2, 0.5], ["d"]]}]}}})");
  Page page;
  private_scores(m_, real_, page);
  for (const char* cell :
       {">0.0200<", ">0.0333<", ">1.0000<", ">4430<", ">1.17<", ">2<", ">1.0<", ">0.5<", ">-<"})
    EXPECT_NE(page.html().find(cell), std::string::npos) << cell << page.html();
}

TEST_F(SummaryTest, RulesThatMoveRowsAreBad) {
  m_.moving_rules = {"constraint 1 (of 'from', 'until') moves 43 % of the rows"};
  EXPECT_TRUE(is_bad(
      "does not know a rule of the schema: constraint 1 (of &#39;from&#39;, &#39;until&#39;) moves 43 %"));
}

TEST_F(SummaryTest, SingleColumnsCanBeBad) {
  real_.scores = scores(0.97, 0.90, 0.98);
  EXPECT_FALSE(is_bad("Single columns: 0.990"));
  real_.scores->shapes = 0.80;
  EXPECT_TRUE(is_bad("Single columns: 0.800"));
}

TEST_F(SummaryTest, TheAttackThatFindsMostIsJudged) {
  Disclosure found;
  found.others = 100;
  found.attacks = {{"one", {0.9, 0.85, 0.95}, {0.3, 0.2, 0.4}},
                   {"other", {0.5, 0.45, 0.55}, {0.01, 0.0, 0.04}}};
  real_.disclosure = found;
  EXPECT_TRUE(is_bad("better than a coin"));
  found.attacks[0] = found.attacks[1];
  real_.disclosure = found;
  EXPECT_FALSE(is_bad("not to be told from a coin"));
  found.attacks[0].area = {0.4, 0.3, 0.45};
  real_.disclosure = found;
  EXPECT_TRUE(is_bad("not comparable"));
  found.attacks.clear();
  real_.disclosure = found;
  EXPECT_TRUE(is_bad("Too few records"));
}

TEST_F(SummaryTest, AColumnThatIsGuessedOfMembersAloneIsTold) {
  Disclosure found;
  found.attacks = {{"one", {0.5, 0.45, 0.55}, {0.01, 0.0, 0.04}}};
  found.inferences = {{0, {0.9, 0.88, 0.92}, {0.7, 0.67, 0.73}, {0.2, 0.16, 0.24}},
                      {1, {0.7, 0.67, 0.73}, {0.7, 0.67, 0.73}, {0.0, -0.04, 0.04}}};
  real_.disclosure = found;
  EXPECT_TRUE(is_bad("Of 2 columns that were guessed from the others 1 is guessed better"));
  EXPECT_FALSE(is_bad("not to be told from a coin"));
}

TEST_F(SummaryTest, TestNoiseIsNotPraised) {
  EXPECT_TRUE(is_bad("There is no guarantee"));
  m_.samples.emplace();
  Page page;
  public_summary(m_, page);
  public_use(m_, page);
  EXPECT_NE(page.html().find("NOT PRIVATE: the release has seeded test noise"), std::string::npos);
  EXPECT_EQ(page.html().find("bounded by epsilon"), std::string::npos);
}

TEST_F(SummaryTest, WhatHoldsOfMoreRecordsThanWerePromisedIsSaid) {
  release::Artifact& a = *m_.verification.artifact;
  a.is_private = true;
  a.max_records_per_person = 1;
  a.noise.epsilon = 1;
  a.noise.delta = 1e-5;
  a.noise.noise_multiplier = 1 / 0.268051;
  const auto summary = [&] {
    Page page;
    public_summary(m_, page);
    return page.html();
  };
  // `muffle account --delta 1e-5 --mu 0.536104` (and 1.34026) says 2.15 and 6.17.
  std::string said = summary();
  EXPECT_NE(said.find("promised by those who made it, not checked"), std::string::npos);
  const auto number_after = [&](const char* text) {
    const auto at = said.find(text);
    return at == std::string::npos ? -1.0 : std::stod(said.substr(at + std::string(text).size()));
  };
  EXPECT_NEAR(number_after("2 records: epsilon "), 2.15, 0.011);
  EXPECT_NEAR(number_after("5 records: epsilon "), 6.17, 0.011);
  EXPECT_GT(number_after("10 records: epsilon "), 12.0);
  a.max_records_per_person = 5;  // the promise is of five, so only ten are more: twice the mu
  said = summary();
  EXPECT_EQ(said.find("2 records: epsilon"), std::string::npos);
  EXPECT_NEAR(number_after("10 records: epsilon "), 2.15, 0.011);
  // Where a column names people, what is beyond the bound does not count.
  schema::Column person;
  person.name = "patient";
  person.role = schema::ColumnRole::kPerson;
  schema::Table table;
  table.columns.push_back(person);
  a.schema.table = std::make_shared<const schema::Table>(table);
  said = summary();
  EXPECT_EQ(said.find("not checked"), std::string::npos);
  EXPECT_NE(said.find("&#39;patient&#39; names, others do not count"), std::string::npos) << said;
}

TEST_F(SummaryTest, AGuaranteeIsJudgedByItself) {
  release::Artifact& a = *m_.verification.artifact;
  a.is_private = true;
  a.max_records_per_person = 1;
  a.noise.delta = 1e-5;
  const auto with = [&](double epsilon, double mu) {
    a.noise.epsilon = epsilon;
    a.noise.noise_multiplier = 1 / mu;
  };
  with(1, 0.268051);
  EXPECT_FALSE(is_bad("The guarantee is strong"));
  EXPECT_FALSE(is_bad("is right in 55.4 % of the cases at most"));  // Phi(0.134) = 0.5533, rounded up
  with(10, 2.0);
  EXPECT_TRUE(is_bad("neither strong (epsilon up to 1) nor weak"));
  EXPECT_TRUE(is_bad("is right in 84.2 % of the cases at most"));
  with(11, 2.2);
  EXPECT_TRUE(is_bad("The guarantee is weak"));
  // An attack that found nothing does not stand alone.
  Disclosure nothing;
  nothing.others = 100;
  nothing.attacks = {{"one", {0.5, 0.45, 0.55}, {0.01, 0.0, 0.04}}};
  real_.disclosure = nothing;
  EXPECT_FALSE(is_bad("The best of all attackers may reach an area of 0.940"));  // Phi(2.2 / sqrt(2))
}

TEST_F(SummaryTest, WhatIsLeftOfABudgetIsSaid) {
  release::Artifact& a = *m_.verification.artifact;
  a.is_private = true;
  a.ledger_charge = "this one";
  a.noise.epsilon = 1;
  a.noise.delta = 1e-5;
  a.noise.noise_multiplier = 1 / 0.268051;
  EXPECT_FALSE(is_bad("not looked at: no ledger was named"));
  privacy::LedgerState& ledger = m_.verification.ledger.emplace();
  ledger.data_id = "people";
  ledger.charges.emplace_back();
  ledger.charges[0].id = "this one";
  ledger.charges[0].time = "2026-11-27T12:34:56Z";
  ledger.spent_squares = 0.268051 * 0.268051;
  EXPECT_FALSE(is_bad("in 1 release; there is no budget"));
  EXPECT_FALSE(is_bad("2026-11-27"));
  ledger.budget = privacy::Budget::from_epsilon(3, 1e-5);
  Page page;
  public_summary(m_, page);
  const std::string text = "one more release may have epsilon ";
  const auto at = page.html().find(text);
  ASSERT_NE(at, std::string::npos) << page.html();
  const double left = std::stod(page.html().substr(at + text.size()));
  const double mu = std::sqrt(ledger.budget->mu * ledger.budget->mu - ledger.spent_squares);
  EXPECT_NEAR(left, privacy::epsilon_for(1e-5, mu), 0.01);
  EXPECT_LE(left, privacy::epsilon_for(1e-5, mu));
  ledger.spent_squares = 1.0;  // more than there was
  EXPECT_FALSE(is_bad("nothing is left"));
}

TEST_F(SummaryTest, RulesThatSyntheticRowsBreakAreNamed) {
  schema::Table table;
  for (const char* name : {"age", "ward", "icd10"}) table.columns.emplace_back().name = name;
  table.columns[0].type = schema::ColumnType::kInteger;
  table.columns[0].hi = 99;
  table.columns[0].edges = {0, 100};
  table.columns[1].values = {{"a", {}}, {"b", {}}, {"c", {}}};
  schema::Constraint adult, among, where;
  adult.columns = {0};
  adult.op = schema::Constraint::Op::kAtLeast;
  adult.value = 18;
  among.kind = schema::Constraint::Kind::kAmong;
  among.columns = {1, 2};
  among.allowed = {{0, 0}, {0, 1}, {1, 2}};
  table.constraints = {adult, among};
  m_.verification.artifact->schema.table = std::make_shared<const schema::Table>(table);
  Rows& rows = m_.samples.emplace();
  rows.labels.assign(50, 0);
  rows.breaks = {0, 0};
  EXPECT_FALSE(
      is_bad("None of 50 synthetic rows breaks a rule of the schema: &#39;age&#39; &gt;= 18; "
             "&#39;ward&#39; and &#39;icd10&#39; are one of the 3 combinations"));
  rows.breaks = {0, 7};
  rows.breaks_any = 7;
  EXPECT_TRUE(is_bad("7 of 50 synthetic rows break a rule of the schema: &#39;ward&#39;"));
  // The other kinds, and what holds because of how columns are made.
  where.kind = schema::Constraint::Kind::kImplies;
  where.columns = {1, 1};
  where.when = {0};
  where.then = {1, 2};
  schema::Constraint sum;
  sum.kind = schema::Constraint::Kind::kSum;
  sum.columns = {0, 1, 2};
  table.constraints = {where, sum};
  table.columns[2].determined = schema::Determination{1, {}};
  table.columns[0].since = 1;
  EXPECT_EQ(rules_of(table),
            (std::vector<std::string>{"where 'ward' is a, 'ward' is b or c", "'age' = 'ward' + 'icd10'"}));
  EXPECT_EQ(made_so(table),
            (std::vector<std::string>{"'age' is never before 'ward'", "'icd10' is what goes with 'ward'"}));
}

TEST_F(SummaryTest, FailedChecksAreTold) {
  m_.verification.checks.push_back({"budget", release::Check::Outcome::kFail, "2 releases spent too much"});
  EXPECT_TRUE(is_bad("2 releases spent too much"));
  EXPECT_TRUE(is_bad("Nobody vouches for the release"));
}

}  // namespace
}  // namespace muffle::report
