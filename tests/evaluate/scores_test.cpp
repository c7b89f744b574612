#include "muffle/evaluate/scores.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/expect_error.hpp"

namespace muffle::evaluate {
namespace {

ConfusionMatrix counted(std::size_t classes, const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  ConfusionMatrix matrix(classes);
  for (const auto& [truth, predicted] : pairs) matrix.add(truth, predicted);
  return matrix;
}

TEST(ConfusionMatrix, ByHand) {
  const auto matrix = counted(3, {{0, 0}, {0, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 0}});
  EXPECT_EQ(matrix.count(), 6u);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 4.0 / 6.0);
  // F1: class 0 has TP 1, FP 1, FN 1; class 1 TP 2, FP 1, FN 0; class 2 TP 1, FP 0, FN 1.
  EXPECT_DOUBLE_EQ(matrix.macro_f1(), (2.0 / 4.0 + 4.0 / 5.0 + 2.0 / 3.0) / 3.0);
}

TEST(ConfusionMatrix, PerfectAndHopeless) {
  EXPECT_DOUBLE_EQ(counted(2, {{0, 0}, {1, 1}}).macro_f1(), 1.0);
  EXPECT_DOUBLE_EQ(counted(2, {{0, 1}, {1, 0}}).macro_f1(), 0.0);
  EXPECT_DOUBLE_EQ(counted(2, {{0, 1}, {1, 0}}).accuracy(), 0.0);
}

TEST(ConfusionMatrix, MacroF1WeighsClassesAlike) {
  // 98 of 100 are class 0, and everything is called class 0: accurate, but one of two classes is never found.
  ConfusionMatrix matrix(2);
  for (int i = 0; i < 98; ++i) matrix.add(0, 0);
  for (int i = 0; i < 2; ++i) matrix.add(1, 0);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 0.98);
  EXPECT_DOUBLE_EQ(matrix.macro_f1(), (2.0 * 98.0 / (2.0 * 98.0 + 2.0)) / 2.0);
}

TEST(ConfusionMatrix, AClassNeitherTrueNorPredictedCountsZero) {
  EXPECT_DOUBLE_EQ(counted(4, {{0, 0}, {1, 1}}).macro_f1(), 0.5);
}

TEST(ConfusionMatrix, EmptyIsZero) {
  EXPECT_EQ(ConfusionMatrix(3).accuracy(), 0.0);
  EXPECT_EQ(ConfusionMatrix(3).macro_f1(), 0.0);
}

TEST(ConfusionMatrix, RefusesClassesThatDoNotExist) {
  ConfusionMatrix matrix(3);
  test::expect_error(ExitCode::kInvariant, {"3", "0..2"}, [&] { matrix.add(3, 0); });
  test::expect_error(ExitCode::kInvariant, {"7", "0..2"}, [&] { matrix.add(0, 7); });
  test::expect_error(ExitCode::kInvariant, {"at least one class"}, [] { ConfusionMatrix(0); });
  EXPECT_EQ(matrix.count(), 0u);
}

}  // namespace
}  // namespace muffle::evaluate
