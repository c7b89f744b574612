#pragma once

#include <cstdint>
#include <span>

namespace muffle::comm {

/// Arithmetic over all ranks. Collective and bounded in time, as comm::Messages; lengths are equal on all
/// ranks.
class Reductions {
 public:
  virtual ~Reductions() = default;
  /// Sum modulo 2^64; `out` is written on root only (it may be empty elsewhere). In chunks, so that any
  /// length works.
  virtual void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) = 0;
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
};

}  // namespace muffle::comm
