#pragma once

#include <vector>

namespace muffle::train {

/// While it lives, the calling thread and its OpenMP workers treat denormal floats as zero. Once pixels
/// saturate, the sigmoid's gradients are denormal, and x86 then computes a training step several times
/// slower; such gradients move nothing. Scoped, so that everything else in the process (the privacy
/// accountant above all) keeps IEEE arithmetic.
class FlushDenormals {
 public:
  /// @param threads  the OpenMP team that the calling thread computes with
  explicit FlushDenormals(int threads);
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::vector<unsigned> before_;  ///< each thread's control word
};

}  // namespace muffle::train
