#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "muffle/evaluate/evaluate.hpp"
#include "support/expect_error.hpp"

namespace muffle::evaluate {
namespace {

TEST(ConfusionMatrix, ByHand) {
  struct Case {
    std::size_t classes;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< truth and prediction
    double accuracy, macro_f1, weighted_f1;
  };
  std::vector<std::pair<std::size_t, std::size_t>> all_called_0(100);
  all_called_0[98] = all_called_0[99] = {1, 0};
  const std::vector<Case> cases{
      // F1: class 0 has TP 1, FP 1, FN 1; class 1 TP 2, FP 1, FN 0; class 2 TP 1, FP 0, FN 1.
      {3,
       {{0, 0}, {0, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 0}},
       4.0 / 6.0,
       (2.0 / 4.0 + 4.0 / 5.0 + 2.0 / 3.0) / 3.0,
       (2.0 / 4.0 + 4.0 / 5.0 + 2.0 / 3.0) / 3.0},
      {2, {{0, 0}, {1, 1}}, 1.0, 1.0, 1.0},
      {2, {{0, 1}, {1, 0}}, 0.0, 0.0, 0.0},
      // Accurate, but one of two classes is never found.
      {2, all_called_0, 0.98, (2.0 * 98.0 / (2.0 * 98.0 + 2.0)) / 2.0,
       0.98 * 2.0 * 98.0 / (2.0 * 98.0 + 2.0)},
      // A class neither true nor predicted counts zero.
      {4, {{0, 0}, {1, 1}}, 1.0, 0.5, 1.0},
      {3, {}, 0.0, 0.0, 0.0}};
  for (const Case& c : cases) {
    ConfusionMatrix matrix(c.classes);
    for (const auto& [truth, predicted] : c.pairs) matrix.add(truth, predicted);
    EXPECT_DOUBLE_EQ(matrix.accuracy(), c.accuracy);
    EXPECT_DOUBLE_EQ(matrix.macro_f1(), c.macro_f1);
    EXPECT_DOUBLE_EQ(matrix.weighted_f1(), c.weighted_f1);
  }
}

TEST(ConfusionMatrix, RefusesClassesThatDoNotExist) {
  ConfusionMatrix matrix(3);
  test::expect_error(ExitCode::kInvariant, {"3", "0..2"}, [&] { matrix.add(3, 0); });
  test::expect_error(ExitCode::kInvariant, {"7", "0..2"}, [&] { matrix.add(0, 7); });
  test::expect_error(ExitCode::kInvariant, {"at least one class"}, [] { ConfusionMatrix(0); });
}

}  // namespace
}  // namespace muffle::evaluate
