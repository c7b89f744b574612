#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using privacy::Adjacency;
using test::expect_error;
using testing_artifact::sample_artifact;
using testing_artifact::sample_tables;

void set_counts(Artifact& a, const std::vector<double>& counts) {
  for (std::size_t c = 0; c < counts.size(); ++c) {
    a.values[a.offset(a.maps.size()) + c] = std::llround(std::ldexp(counts[c], a.lattice.bits));
  }
}

TEST(MakeTarget, TakesThePublicNumberOfRecords) {
  const Artifact a = sample_artifact();
  const Target t = make_target(a);
  EXPECT_EQ(t.records, 60000.0);
  EXPECT_EQ(t.class_share, std::vector<double>(3, 1.0 / 3));
  EXPECT_EQ(t.column_weight, std::vector<double>(3, 1.0));
}

TEST(MakeTarget, ReweightsImbalancedClassesByTheirNoisyCounts) {
  Artifact a = sample_artifact({.counts = true});
  set_counts(a, {45000, 14900, 100});
  Target t = make_target(a);
  EXPECT_NEAR(t.class_share[0], 0.75, 1e-9);
  EXPECT_NEAR(t.class_share[2], 100.0 / 60000, 1e-9);
  for (std::size_t c = 0; c < 3; ++c) {
    // Every class's column then is a third of its own mean embedding: weight x share is the same for all.
    EXPECT_NEAR(t.column_weight[c] * t.class_share[c], 1.0 / 3, 1e-9);
  }
  set_counts(a, {20000, 20000, 20000});
  EXPECT_NEAR(make_target(a).column_weight[1], 1.0, 1e-12) << "balanced data are left as they are";

  // A tiny or negative noisy count neither explodes nor flips a weight.
  set_counts(a, {50000, 0.01, -12});
  t = make_target(a);
  const double noise = static_cast<double>(testing_artifact::sigma_lattice(a)) / 16777216.0;
  EXPECT_NEAR(t.column_weight[1], 60000 / (3 * noise), 1e-6);
  EXPECT_EQ(t.column_weight[2], 0.0);
  EXPECT_EQ(t.class_share[2], 0.0);
  EXPECT_NEAR(std::accumulate(t.class_share.begin(), t.class_share.end(), 0.0), 1.0, 1e-12);
  // All negative: nothing is known of the classes.
  set_counts(a, {-3, -1, -2});
  t = make_target(a);
  EXPECT_EQ(t.class_share, std::vector<double>(3, 1.0 / 3));
  EXPECT_EQ(t.column_weight, std::vector<double>(3, 1.0));
}

TEST(MakeTarget, PrivateNumberOfRecordsIsTheNoisyCountsSum) {
  Artifact a = sample_artifact({.adjacency = Adjacency::kAddRemoveOne, .counts = true});
  set_counts(a, {100, 250, -50});
  const Target t = make_target(a);
  EXPECT_NEAR(t.records, 300.0, 1e-6);
  EXPECT_NEAR(t.class_share[1], 250.0 / 350, 1e-9);
  set_counts(a, {10, -30, 5});
  expect_error(ExitCode::kData, {"-15.0 records", "larger epsilon"}, [&] { (void)make_target(a); });
}

TEST(MakeTarget, MomentsCountTheRecords) {
  const Target t =
      make_target(sample_artifact({.moments = true, .proxy = true, .coarse = true, .weight = 5}));
  EXPECT_NEAR(t.class_share[1], 1.0 / 3, 1e-3);
}

/// A release of m records of which `held` are in the sums.
Artifact of_records(Artifact a, double held) {
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    if (!a.maps[b].map->tables()) continue;
    const features::CountTables& all = a.maps[b].map->tables()->counted();
    const auto units = all.units(a.lattice);
    for (std::size_t t = 0; t < all.tables.size(); ++t)  // in the last class's last cells
      a.values[a.offset(b + 1) - a.features(b) + all.tables[t].first + all.tables[t].cells - 1] =
          std::llround(held * static_cast<double>(units[t]));
  }
  if (a.counts) a.values.back() = std::llround(held * static_cast<double>(a.counts_units()));
  return a;
}

TEST(FewRecords, AreTakenNoteOfWhereTheNoisyTotalSaysSoBeyondItsNoise) {
  Artifact tables = sample_tables(), counts = sample_artifact({.counts = true, .records = 1000});
  for (Artifact a : {tables, counts}) {
    std::fill(a.values.begin(), a.values.end(), 0);
    const auto total = noisy_total(of_records(a, 700));
    ASSERT_TRUE(total);
    EXPECT_NEAR(total->records, 700, 1e-3);
    const double edge = 900 - 2.5758 * total->sigma;
    ASSERT_GT(edge, 100);
    EXPECT_NE(few_records(of_records(a, edge - 1)), "");
    EXPECT_EQ(few_records(of_records(a, edge + 1)), "");
    const Artifact few = of_records(a, 100);
    EXPECT_THAT(privacy_statement_text(few), testing::HasSubstr("Data: by its noisy totals only"));
    EXPECT_THAT(privacy_statement_json(few),
                testing::HasSubstr("of the 1000 records are in this release (99 % interval)"));
    EXPECT_THAT(privacy_statement_text(of_records(a, 1000)), testing::Not(testing::HasSubstr("interval")));
  }
}

TEST(FewRecords, AreThoseOfAPersonTooManyOnlyWhereThereArePersons) {
  Artifact a = sample_tables();
  std::fill(a.values.begin(), a.values.end(), 0);
  a = of_records(a, 100);
  EXPECT_THAT(few_records(a), testing::HasSubstr("The others did not fit schema and settings"));
  schema::Table table = *a.schema.table;
  schema::Column who;
  who.name = "who";
  who.role = schema::ColumnRole::kPerson;
  table.columns.push_back(who);
  a.schema.table = std::make_shared<const schema::Table>(table);
  EXPECT_THAT(few_records(a),
              testing::HasSubstr("The others are beyond what a person may own, or did not fit"));
}

TEST(FewRecords, NothingIsSaidWhereNothingIsKnown) {
  EXPECT_FALSE(noisy_total(sample_artifact()));
  EXPECT_EQ(few_records(sample_artifact()), "");
  // m is private.
  EXPECT_EQ(few_records(sample_tables(privacy::Adjacency::kAddRemoveOne)), "");
}

}  // namespace
}  // namespace muffle::release
