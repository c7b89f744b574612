// Records' integers z, packed for the sum of their z z^T (Kernels::add_gram): Accumulator alone fills them.
#pragma once

#include "aligned_buffer.hpp"
#include "kernels.hpp"

namespace muffle::features {

class OuterProducts {
 public:
  /// @param capacity  records @param order  numbers of z
  OuterProducts(std::size_t capacity, std::size_t order, const Kernels& kernels)
      : capacity_(capacity),
        order_(order),
        kernels_(kernels),
        packed_(capacity * packed_numbers(order, kernels)) {}

  /// Of one record.
  static std::size_t packed_numbers(std::size_t order, const Kernels& kernels) {
    return (order + kernels.gram_panel - 1) / kernels.gram_panel * kernels.gram_panel;
  }

 private:
  friend class Accumulator;
  std::size_t capacity_, order_, count_ = 0;
  const Kernels& kernels_;
  AlignedBuffer<double> packed_;  ///< panels x capacity x gram_panel
};

}  // namespace muffle::features
