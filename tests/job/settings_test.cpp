#include "muffle/job/settings.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace muffle::job {
namespace {

TEST(AggregationSettings, ContradictionsAreProblems) {
  const auto problems = [](const AggregationSettings& s, privacy::Adjacency adjacency, bool own_records) {
    settings::Problems found;
    s.problems(adjacency, own_records, found);
    return found.take();
  };
  constexpr auto kReplace = privacy::Adjacency::kReplaceOne, kAddRemove = privacy::Adjacency::kAddRemoveOne;
  EXPECT_TRUE(problems({}, kReplace, false).empty());
  EXPECT_TRUE(
      problems({.secure = true, .distributed = true, .site_key = "k", .site_roster = "r"}, kReplace, false)
          .empty());
  EXPECT_EQ(problems({.distributed = true}, kReplace, false).size(), 1u);
  EXPECT_EQ(problems({.secure = true, .distributed = true}, kAddRemove, false).size(), 1u);
  EXPECT_TRUE(problems({.secure = true, .distributed = true}, kAddRemove, true).empty());
  EXPECT_EQ(problems({.secure = true, .site_key = "k"}, kReplace, false).size(), 1u);
  EXPECT_EQ(problems({.site_key = "k", .site_roster = "r"}, kReplace, false).size(), 1u);
}

TEST(AggregationSettings, MakeAModeOfTheRanks) {
  EXPECT_EQ((AggregationSettings{.colluding = 5}.mode(3)),
            privacy::AggregationMode(privacy::SingleCoordinator{3}));
  EXPECT_EQ((AggregationSettings{.secure = true, .distributed = true, .site_key = "k"}.mode(3)),
            privacy::AggregationMode(privacy::DistributedNoise{3, 1}));
  test::expect_error(ExitCode::kConfig, {"colluding"}, [] {
    static_cast<void>(AggregationSettings{.secure = true, .distributed = true}.mode(1));
  });
}

}  // namespace
}  // namespace muffle::job
