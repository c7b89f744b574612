#pragma once

#include <cstddef>
#include <span>

#include "muffle/data/batch.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::data {

/// Turns stored numbers into [0, 1]: (v - lo) / (hi - lo), every step in float32, so the same bits
/// everywhere; for uint8 with bounds 0 and 255 that is v / 255. The bounds are compared as float32 too: a
/// float file cannot hold 0.1 itself.
class Scaler {
 public:
  explicit Scaler(const schema::Schema& schema);

  /// Makes room for n records in `batch`; they are to come in bytes, or scaled.
  void make_room(std::size_t n, std::size_t dims, bool as_bytes, Batch& batch) const;

  /// Puts one record, as stored in an IDX file of this type, at place i of a batch with room for it; bytes
  /// where that was asked for. @returns false if a number is NaN or outside the bounds and the schema rejects
  /// that; under kClamp NaN becomes 0 and the others the nearer bound, and it returns true.
  bool put(std::span<const std::byte> stored, IdxType type, std::size_t i, Batch& batch) const;

 private:
  bool scale(std::span<const std::byte> stored, IdxType type, float* out) const;
  bool fits(float v) const { return v >= lo_ && v <= hi_; }  // NaN fits nowhere
  float to_unit(float v) const;

  float lo_;
  float hi_;
  bool clamp_;
  schema::ByteScale bytes_;
};

}  // namespace muffle::data
