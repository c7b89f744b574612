#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "muffle/schema/schema.hpp"

namespace muffle::schema {

/// Numbers as stored and numbers in [0, 1]: there, and back to typed values. Nowhere else is either computed.
///
/// Of private records: (v - lo) / (hi - lo), every step in float32, so the same bits everywhere; for bytes
/// with bounds 0 and 255 that is v / 255. The bounds are compared as float32 too: a float file cannot hold
/// 0.1 itself.
class Scaling {
 public:
  explicit Scaling(const Schema& schema)
      : lo_(static_cast<float>(schema.lo)), hi_(static_cast<float>(schema.hi)) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = to_unit(static_cast<float>(i));
  }

  /// Within the bounds. NaN fits nowhere.
  bool fits(float v) const { return v >= lo_ && v <= hi_; }
  /// What does not fit becomes the nearer bound; NaN becomes 0.
  float to_unit(float v) const {
    if (!(v >= lo_)) return 0.0f;
    if (v > hi_) return 1.0f;
    return (v - lo_) / (hi_ - lo_);
  }
  /// to_unit() of each byte.
  const ByteScale& bytes() const { return bytes_; }

 private:
  float lo_;
  float hi_;
  ByteScale bytes_;
};

/// How synthetic records are stored: images as bytes, of which 0 .. 255 stands for [0, 1]; others as float32
/// in [lo, hi].
class SampleScaling {
 public:
  explicit SampleScaling(const Schema& schema) : SampleScaling(schema, schema.is_image()) {}
  /// Of records that somebody else stored as bytes, or as numbers.
  SampleScaling(const Schema& schema, bool bytes)
      : bytes_(bytes), lo_(bytes_ ? 0.0 : schema.lo), hi_(bytes_ ? kLargestByte : schema.hi) {}

  bool as_bytes() const { return bytes_; }
  /// Bytes that a stored number takes.
  std::size_t number_bytes() const { return bytes_ ? 1 : sizeof(float); }
  double lo() const { return lo_; }
  double hi() const { return hi_; }

  /// @param unit  in [0, 1], as the others'; rounds half up.
  static std::uint8_t to_byte(double unit) {
    return static_cast<std::uint8_t>(std::floor(kLargestByte * unit + 0.5));
  }
  static float from_byte(std::uint8_t byte) {
    return static_cast<float>(byte) / static_cast<float>(kLargestByte);
  }
  float to_number(double unit) const { return static_cast<float>(lo_ + unit * (hi_ - lo_)); }
  /// Clamped to [0, 1].
  float from_number(double v) const {
    return static_cast<float>(std::clamp((v - lo_) / (hi_ - lo_), 0.0, 1.0));
  }

 private:
  static constexpr double kLargestByte = 255.0;

  bool bytes_;
  double lo_, hi_;
};

}  // namespace muffle::schema
