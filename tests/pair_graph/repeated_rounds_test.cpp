// Releases in rounds whose choices are repeated: what was chosen otherwise is found, and what another build
// may choose otherwise is not called a forgery.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "release/judged_release.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::pair_graph {
namespace {

using release::Artifact;
using release::Check;
using Outcome = release::Check::Outcome;
using features::CountTable;

constexpr std::uint64_t kRepeatedRecords = 4000;
const std::vector<std::size_t> kRepeatedCodes{12, 9, 5, 3};

/// What a record has in its columns: each follows the one before it, more or less.
std::vector<std::size_t> codes_of(std::uint64_t record) {
  const CounterStream random(3, Stream::kTest, 1);
  std::vector<std::size_t> out;
  double before = random.uniform(8 * record);
  for (std::size_t j = 0; j < kRepeatedCodes.size(); ++j) {
    const double own = random.uniform(8 * record + j + 1);
    before = own < 0.6 ? before : random.uniform(8 * record + 6) * own;
    out.push_back(std::min(
        kRepeatedCodes[j] - 1,
        static_cast<std::size_t>(before * before * before * static_cast<double>(kRepeatedCodes[j]))));
  }
  return out;
}

/// A round's released numbers: sums and noise.
std::vector<std::int64_t> released(const release::ReleasePlan& round) {
  std::vector<std::int64_t> out(round.size());
  for (std::size_t b = 0; b < round.maps.size(); ++b) {
    const features::CountTables& all = round.maps[b].map->tables()->counted();
    const std::vector<std::int64_t> units = all.units(round.lattice);
    for (std::uint64_t record = 0; record < kRepeatedRecords; ++record) {
      const std::vector<std::size_t> code = codes_of(record);
      const std::size_t c = record % round.classes();
      for (std::size_t t = 0; t < all.tables.size(); ++t) {
        const CountTable& table = all.tables[t];
        std::size_t cell = 0;
        for (std::size_t k = 0; k < table.columns.size(); ++k) {
          const std::size_t x = code[table.columns[k]];
          const bool grouped = !table.groups.empty() && !table.groups[k].empty();
          cell = cell * table.size(k, all.codes) + (grouped ? table.groups[k][x] : x);
        }
        out[round.offset(b) + c * round.features(b) + table.first + cell] += units[t];
      }
    }
    const CounterStream random(9, Stream::kTest, static_cast<std::uint32_t>(round.maps[b].round));
    const auto sigma = static_cast<double>(round.noise.parts[b].runs.front().sigma_lattice);
    for (std::size_t i = round.offset(b); i < round.offset(b + 1); ++i)
      out[i] += static_cast<std::int64_t>(sigma * random.normal(i));
  }
  return out;
}

/// A release in so many rounds.
Artifact release_in(std::size_t rounds,
                    const schema::Schema& schema = test::table_schema(kRepeatedCodes, 2)) {
  privacy::PrivacySpec privacy = release::testing_artifact::privacy_of({.epsilon = 0.3});
  privacy.rounds = rounds;
  const auto map =
      test::make_map("pairs", {{"weights", "[\"a:c=2.5\"]"}, {"triples", "[\"a:b:d\"]"}}, schema);
  release::ReleasePlan plan = release::make_plan(
      in_rounds({schema, {}, {test::named("p", map->clone())}, privacy, false, kRepeatedRecords}));
  std::vector<std::vector<std::int64_t>> values;
  for (std::size_t round = 1; round <= rounds; ++round) {
    const Artifact so_far = release::released_so_far(plan, {}, values);
    release::ReleasePlan next = plan;
    for (std::size_t b = 0; b < plan.maps.size() && round > 1; ++b) {
      if (plan.maps[b].round == round) next.go_on_with(b, map_of_next_round(plan, b, so_far));
    }
    plan = next;
    values.push_back(released(plan.of_round(round)));
  }
  Artifact out = release::testing_artifact::artifact_of(plan);
  out.values = release::joined(plan, values);
  return out;
}

release::Verification judged(const std::string& bytes) {
  return release::testing_artifact::judge(bytes, [](release::Evidence& e) {
    e.repeat_choices = repeat_choices;
    e.may_be_unsigned = true;
  });
}

/// The second round's map with other tables.
Artifact with_tables(const Artifact& honest, const std::function<void(std::vector<CountTable>&)>& change) {
  constexpr std::size_t kSecond = 1;
  Artifact out = honest;
  std::vector<CountTable> tables = out.maps[kSecond].map->tables()->counted().tables;
  change(tables);
  features::CountTables placed{kRepeatedCodes, tables};
  placed.lay_out();
  out.maps[kSecond].map = honest.maps[kSecond].map->tables()->counting(placed.tables);
  out.map_hashes[kSecond] = out.maps[kSecond].map->hash();
  return out;
}

class RepeatedRounds : public testing::TestWithParam<std::size_t> {
 protected:
  const Artifact honest_ = release_in(GetParam());

  void expect_refused(const Artifact& forged, const std::string& what) const {
    const release::Verification v = judged(release::artifact_bytes(forged));
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << what;
    EXPECT_THAT(release::testing_artifact::failed(v), testing::ElementsAre("rounds")) << what;
  }
};
INSTANTIATE_TEST_SUITE_P(Rounds, RepeatedRounds, testing::Values(2u, 3u));

TEST_P(RepeatedRounds, AnHonestReleaseIsRepeatedAndPasses) {
  const release::Verification v = judged(release::artifact_bytes(honest_));
  EXPECT_EQ(v.code(), ExitCode::kDone) << release::verification_text(v);
  EXPECT_EQ(release::testing_artifact::outcome(v, "rounds"), Outcome::kPass);
}

TEST_P(RepeatedRounds, WhatWasNotChosenByTheNumbersBeforeIsRefused) {
  expect_refused(with_tables(honest_, [](auto& tables) { tables.back().weight *= 1 + 1e-15; }),
                 "a digit of a weight");
  ASSERT_GT(honest_.maps[1].map->tables()->counted().tables.size(), 2u);
  expect_refused(
      with_tables(honest_, [](auto& tables) { std::swap(tables[tables.size() - 2], tables.back()); }),
      "tables reordered");
  const auto with_map = [&](std::size_t b, const std::function<void(features::NamedMap&)>& change) {
    Artifact out = honest_;
    change(out.maps[b]);
    // Bound and noise are those of the maps.
    privacy::PrivacySpec spec = release::testing_artifact::privacy_of({.epsilon = 0.3});
    out.noise = release::testing_artifact::plan_for(out, spec);
    return out;
  };
  expect_refused(with_map(1, [](auto& map) { map.weight *= 1 + 1e-15; }), "a digit of a round's weight");
  expect_refused(with_map(0, [](auto& map) { map.weight *= 1 + 1e-15; }), "a digit of the first round's");
  expect_refused(with_map(0, [](auto& map) { map.workload->weight *= 1 + 1e-15; }), "a digit of the whole's");
  Artifact unlabelled = honest_;
  for (features::NamedMap& map : unlabelled.maps) map.round = 1;
  expect_refused(unlabelled, "rounds without their number");
}

class RepeatedRoundsOfThree : public testing::Test {
 protected:
  const Artifact honest_ = release_in(3);
  static std::vector<std::uint32_t>& groups(std::vector<CountTable>& tables) {
    for (CountTable& table : tables) {
      for (auto& of : table.groups) {
        if (!of.empty()) return of;
      }
    }
    throw std::logic_error("no round of this test merges codes");
  }
};

TEST_F(RepeatedRoundsOfThree, ReversedGroupsAreRefused) {
  const Artifact forged = with_tables(honest_, [](auto& tables) {
    std::vector<std::uint32_t>& of = groups(tables);
    const std::uint32_t last = *std::ranges::max_element(of);
    for (std::uint32_t& group : of) group = last - group;
  });
  EXPECT_EQ(repeat_choices(honest_)->outcome, Outcome::kPass);
  EXPECT_EQ(repeat_choices(forged)->outcome, Outcome::kFail);
}

TEST_F(RepeatedRoundsOfThree, GroupsOfAReleaseThatSaysNothingOfRoundsAreRefused) {
  Artifact forged = honest_;
  forged.maps.front().workload.reset();
  for (features::NamedMap& map : forged.maps) map.round = 1;
  EXPECT_EQ(repeat_choices(forged)->outcome, Outcome::kFail);
}

TEST_F(RepeatedRoundsOfThree, ExchangedRoundsAreRefused) {
  Artifact forged = honest_;
  std::swap(forged.maps[1].round, forged.maps[2].round);
  const release::Verification v = judged(release::artifact_bytes(forged));
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_EQ(release::testing_artifact::outcome(v, "rounds"), Outcome::kFail);
}

TEST_P(RepeatedRounds, WhatCannotBeRepeatedIsNeitherGoodNorRefused) {
  Artifact other = honest_;
  other.maps.front().workload->rule += 1;
  const release::Verification v = judged(release::artifact_bytes(other));
  EXPECT_EQ(v.code(), ExitCode::kUnvouched) << release::verification_text(v);
  EXPECT_THAT(release::verification_text(v),
              testing::HasSubstr("consistent, but what its later rounds count was not recomputed"));
  EXPECT_THROW(release::require_passed(v), Error);
}

/// a's and b's bins are learned; b has 8 and a missing value.
schema::Schema schema_to_learn() {
  const schema::Schema written = test::table_schema(kRepeatedCodes, 2, 2);
  auto table = std::make_shared<schema::Table>(*written.table);
  for (schema::Column& column : table->columns) column.learned = column.is_number();
  schema::Schema out;
  describe_table(out, std::move(table));
  return out;
}

TEST(RepeatedRoundsOfLearnedBins, GroupsFollowFromTheFirstRoundsTreesAndForgedOnesAreRefused) {
  for (const std::size_t rounds : {2u, 3u}) {
    const Artifact honest = release_in(rounds, schema_to_learn());
    std::size_t levels = 0, pairs = 0;
    for (const CountTable& table : honest.maps[0].map->tables()->counted().tables) {
      levels += table.columns == std::vector<std::size_t>{0};
      pairs += table.columns.size() > 1;
    }
    EXPECT_EQ(levels, 4u) << "12 cells";
    EXPECT_EQ(pairs, 0u) << "the first round counts single columns";
    const release::Verification v = judged(release::artifact_bytes(honest));
    EXPECT_EQ(v.code(), ExitCode::kDone) << release::verification_text(v);
    for (const CountTable& table : honest.maps[1].map->tables()->counted().tables) {
      for (std::size_t k = 0; k < table.columns.size(); ++k) {
        if (table.columns[k] != 1 || table.groups.empty() || table.groups[k].empty()) continue;
        EXPECT_EQ(std::ranges::count(table.groups[k], table.groups[k].back()), 1)
            << "nobody joins the missing";
      }
    }
    // One of a's cells is moved to the group before.
    bool moved = false;
    const Artifact forged = with_tables(honest, [&](auto& tables) {
      for (CountTable& table : tables) {
        if (table.columns.front() != 0 || table.groups.empty()) continue;
        std::vector<std::uint32_t>& of = table.groups[0];
        for (std::size_t x = 1; x < of.size() && !moved; ++x) {
          if (of[x] == of[x - 1] || std::ranges::count(of, of[x]) == 1) continue;
          of[x] = of[x - 1];
          moved = true;
        }
      }
    });
    ASSERT_TRUE(moved);
    const release::Verification wrong = judged(release::artifact_bytes(forged));
    EXPECT_EQ(wrong.code(), ExitCode::kProtocol);
    EXPECT_EQ(release::testing_artifact::outcome(wrong, "rounds"), Outcome::kFail);
    // A share of the budget that rounds do not have.
    Artifact shifted = honest;
    shifted.maps[0].weight *= 1.01;
    EXPECT_EQ(repeat_choices(shifted)->outcome, Outcome::kFail);
  }
}

// Whoever takes away what the rounds chose from gets no softer verdict than whoever changes it.
TEST_P(RepeatedRounds, AReleaseThatDoesNotSayWhatItsRoundsChoseFromIsRefused) {
  Artifact stripped = honest_;
  stripped.maps.front().workload.reset();
  expect_refused(stripped, "labelled rounds");
  for (features::NamedMap& map : stripped.maps) map.round = 1;
  expect_refused(stripped, "as if it were of one round");
  for (features::NamedMap& map : stripped.maps) map.name = fmt::format("m{}", map.name.back());
  expect_refused(stripped, "and under other names");
}

class RepeatedRoundsOfOne : public testing::Test {
 protected:
  /// Two maps of counts in one round, that count these tables and no others.
  static release::ReleaseSettings settings(const std::string& first, const std::string& first_counts,
                                           const std::string& second, const std::string& second_counts) {
    const schema::Schema schema = test::table_schema({3, 4, 2}, 2);
    const auto map = [&](const std::string& name, const std::string& counts) {
      return test::named(
          name, test::make_map("pairs", {{"weights", "[\"*=0\", \"*:*=0\", \"" + counts + "=1\"]"}}, schema));
    };
    privacy::PrivacySpec privacy = release::testing_artifact::privacy_of({});
    privacy.rounds = 1;
    return {schema, {}, {map(first, first_counts), map(second, second_counts)}, privacy, false, 1000};
  }
};

TEST_F(RepeatedRoundsOfOne, WhatSeveralMapsCountIsTheOwnersWord) {
  EXPECT_FALSE(repeat_choices(release::testing_artifact::sample_artifact()));
  const release::ReleasePlan plan = release::make_plan(in_rounds(settings("all", "a:b", "few", "a:c")));
  const auto check = repeat_choices(release::testing_artifact::artifact_of(plan));
  ASSERT_TRUE(check);
  EXPECT_EQ(check->outcome, release::Check::Outcome::kPass);
  EXPECT_THAT(check->detail, ::testing::HasSubstr("public by its owner's word"));
}

TEST_F(RepeatedRoundsOfOne, MapsThatLookLikeRoundsAreConfiguredByNobody) {
  const auto refused = [](const release::ReleaseSettings& settings, const char* why) {
    test::expect_error(ExitCode::kConfig, {why}, [&] { (void)in_rounds(settings); });
    EXPECT_EQ(repeat_choices(release::testing_artifact::artifact_of(release::make_plan(settings)))->outcome,
              Outcome::kFail);
  };
  refused(settings("all", "a:b", "few", "a:b"), "count the same columns");
  refused(settings("p-1", "a:b", "p-2", "a:c"), "have names that rounds of one map have");
}

}  // namespace
}  // namespace muffle::pair_graph
