#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {

ConfusionMatrix::ConfusionMatrix(std::size_t classes) : classes_(classes), cells_(classes * classes, 0) {
  require(classes > 0, "a confusion matrix needs at least one class");
}

void ConfusionMatrix::add(std::size_t truth, std::size_t predicted) {
  require(truth < classes_ && predicted < classes_,
          fmt::format("classes {} and {} do not both lie in 0..{}", truth, predicted, classes_ - 1));
  ++cells_[truth * classes_ + predicted];
  ++count_;
}

double ConfusionMatrix::accuracy() const {
  if (count_ == 0) return 0.0;
  std::uint64_t hits = 0;
  for (std::size_t c = 0; c < classes_; ++c) hits += at(c, c);
  return static_cast<double>(hits) / static_cast<double>(count_);
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0.0;
  for (std::size_t c = 0; c < classes_; ++c) {
    std::uint64_t is_c = 0, called_c = 0;
    for (std::size_t other = 0; other < classes_; ++other) {
      is_c += at(c, other);
      called_c += at(other, c);
    }
    // 2 TP + FP + FN = (TP + FN) + (TP + FP).
    if (is_c + called_c > 0)
      sum += 2.0 * static_cast<double>(at(c, c)) / static_cast<double>(is_c + called_c);
  }
  return sum / static_cast<double>(classes_);
}

}  // namespace muffle::evaluate
