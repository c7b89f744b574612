// Comparisons that come out alike on every build: of numbers in whole steps.
#pragma once

#include <cstdint>

namespace muffle::pair_graph {

/// A number in whole steps. Builds differ in a number's last digits (vector instructions, the mathematics
/// library), so choices that everybody must be able to repeat compare whole steps, and never digits.
struct Steps {
  std::int64_t value = 0;
  /// By how much the value may be another elsewhere: of how many of its summands the digits lie so near the
  /// middle between two steps that another build may round them to the other one.
  std::int64_t doubt = 0;

  Steps& operator+=(const Steps& other) {
    value += other.value;
    doubt += other.doubt;
    return *this;
  }
  Steps operator-(const Steps& other) const { return {value - other.value, doubt + other.doubt}; }
};

/// `x` in steps of 2^-20 of the power of two at or below `scale`, far above what builds differ by, and
/// far below what a choice could matter by. @param scale  above 0
Steps in_steps(double x, double scale);

/// Compares, and notes whether the answer hung on a doubt.
class Comparisons {
 public:
  bool less(const Steps& a, const Steps& b);
  /// Every build would have got the same answers.
  bool steady() const { return steady_; }

 private:
  bool steady_ = true;
};

}  // namespace muffle::pair_graph
