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

ConfusionMatrix::OfClass ConfusionMatrix::of_class(std::size_t c) const {
  OfClass out;
  std::uint64_t called_c = 0;
  for (std::size_t other = 0; other < classes_; ++other) {
    out.records += at(c, other);
    called_c += at(other, c);
  }
  // 2 TP + FP + FN = (TP + FN) + (TP + FP).
  if (out.records + called_c > 0)
    out.f1 = 2.0 * static_cast<double>(at(c, c)) / static_cast<double>(out.records + called_c);
  return out;
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0.0;
  for (std::size_t c = 0; c < classes_; ++c) sum += of_class(c).f1;
  return sum / static_cast<double>(classes_);
}

double ConfusionMatrix::weighted_f1() const {
  double sum = 0.0;
  for (std::size_t c = 0; c < classes_; ++c) {
    const OfClass of = of_class(c);
    sum += of.f1 * static_cast<double>(of.records);
  }
  return count_ == 0 ? 0.0 : sum / static_cast<double>(count_);
}

}  // namespace muffle::evaluate
