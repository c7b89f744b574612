#include "evaluate/measures.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "support/expect_error.hpp"

namespace muffle::evaluate {
namespace {

TEST(Ranking, ByHandWithTies) {
  const std::array<bool, 6> positive{true, false, true, false, true, false};
  // Steps: 0.9 (1 of 1), 0.7 (2 of 3 so far: one tie of each), 0.4 (2 positive of 4), 0.1 (3 of 6).
  const std::vector<double> scores{0.9, 0.7, 0.7, 0.4, 0.1, 0.1};
  const Ranking ranking = rank_scores(scores, positive);
  // Pairs that are right: the first positive beats all 3, the second 1 and a half, the third a half.
  EXPECT_DOUBLE_EQ(ranking.roc_auc, (3.0 + 2.5 + 0.5) / 9.0);
  EXPECT_DOUBLE_EQ(ranking.average_precision, (1.0 + 2.0 / 3.0 + 3.0 / 6.0) / 3.0);
  // Points (recall, precision): (0, 1), (1/3, 1), (2/3, 2/3), (2/3, 1/2), (1, 1/2).
  EXPECT_DOUBLE_EQ(ranking.pr_trapezoids, (1.0 + 5.0 / 6.0 + 0.5) / 3.0);
}

TEST(Ranking, AllEqualIsChanceAndSignsTurnItRound) {
  const std::array<bool, 4> positive{true, false, false, false};
  const Ranking flat = rank_scores(std::vector<double>(4, 0.3), positive);
  EXPECT_DOUBLE_EQ(flat.roc_auc, 0.5);
  EXPECT_DOUBLE_EQ(flat.average_precision, 0.25);
  EXPECT_DOUBLE_EQ(flat.pr_trapezoids, 0.5 * (1.0 + 0.25));
  EXPECT_DOUBLE_EQ(rank_scores(std::vector<double>{4, 3, 2, 1}, positive).roc_auc, 1.0);
  EXPECT_DOUBLE_EQ(rank_scores(std::vector<double>{1, 2, 3, 4}, positive).roc_auc, 0.0);
}

TEST(Ranking, NeedsBothClasses) {
  test::expect_error(ExitCode::kInvariant, {"positives and negatives"},
                     [] { rank_scores(std::vector<double>{1.0}, std::array<bool, 1>{true}); });
}

TEST(Measures, OfTwoClassesByHand) {
  const std::vector<std::int32_t> truth{1, 1, 0, 0, 0};
  // Predicted 1, 0, 0, 0, 1: the larger of two scores, of equal ones the first class.
  const std::vector<double> scores{0.1, 0.9, 0.5, 0.5, 0.8, 0.2, 0.7, 0.3, 0.4, 0.6};
  const Measures m = measure(truth, scores, 2);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.6);
  EXPECT_DOUBLE_EQ(m.macro_f1, (0.5 + 2.0 / 3.0) / 2.0);
  EXPECT_DOUBLE_EQ(m.weighted_f1, (2 * 0.5 + 3 * 2.0 / 3.0) / 5.0) << "class 1 has 2 of 5 records";
  EXPECT_DOUBLE_EQ(m.roc_auc, 5.0 / 6.0) << "0.9 and 0.5 against 0.2, 0.3 and 0.6";
  EXPECT_DOUBLE_EQ(m.pr_auc, (1.0 + 2.0 / 3.0) / 2.0);
  EXPECT_DOUBLE_EQ(m.roc_auc_hard, (0.5 + 2.0 / 3.0) / 2.0) << "mean of the classes' recalls";
  // Points (0, 1), (1/2, 1/2), (1, 2/5).
  EXPECT_DOUBLE_EQ(m.pr_auc_hard, 0.5 * 0.75 + 0.5 * 0.45);
}

TEST(Measures, OfMoreClassesAreMeansOfEachAgainstTheOthers) {
  const std::vector<std::int32_t> truth{0, 1, 2, 2};
  const std::vector<double> scores{0.8, 0.1, 0.1, 0.3, 0.4, 0.3, 0.1, 0.2, 0.7, 0.6, 0.3, 0.1};
  const Measures m = measure(truth, scores, 3);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.75);
  // Class 2: its scores 0.7 and 0.1 against 0.1 and 0.3.
  EXPECT_DOUBLE_EQ(m.roc_auc, (1.0 + 1.0 + 2.5 / 4.0) / 3.0);
  EXPECT_DOUBLE_EQ(m.roc_auc_hard, (0.5 * (1.0 + 2.0 / 3.0) + 1.0 + 0.75) / 3.0);
}

TEST(Measures, RefuseScoresThatAreNoNumbers) {
  const std::vector<std::int32_t> truth{0, 1};
  const std::vector<double> scores{0.0, 1.0, std::numeric_limits<double>::quiet_NaN(), 0.0};
  test::expect_error(ExitCode::kInvariant, {"not finite"}, [&] { measure(truth, scores, 2); });
}

}  // namespace
}  // namespace muffle::evaluate
