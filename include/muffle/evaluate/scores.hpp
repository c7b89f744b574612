#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muffle::evaluate {

/// How often each class was taken for each other one: what accuracy and F1 are computed from, in one pass
/// over any number of test records. Memory: C x C counts.
class ConfusionMatrix {
 public:
  /// @param classes  C >= 1.
  explicit ConfusionMatrix(std::size_t classes);

  /// Counts one test record; both in 0..C-1. @throws InvariantError otherwise.
  void add(std::size_t truth, std::size_t predicted);

  std::uint64_t count() const { return count_; }
  /// Share of records whose class was found; 0 with no records.
  double accuracy() const;
  /// Unweighted mean over all C classes of F1 = 2 TP / (2 TP + FP + FN); a class never predicted and never
  /// true counts 0 (scikit-learn's f1_score with labels = 0..C-1, average = "macro", zero_division = 0).
  double macro_f1() const;

 private:
  std::uint64_t at(std::size_t truth, std::size_t predicted) const {
    return cells_[truth * classes_ + predicted];
  }

  std::size_t classes_;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> cells_;
};

}  // namespace muffle::evaluate
