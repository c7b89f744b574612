#include "scale.hpp"

#include <algorithm>

namespace muffle::data {

Scaler::Scaler(const Schema& schema)
    : lo_(static_cast<float>(schema.lo)),
      hi_(static_cast<float>(schema.hi)),
      clamp_(schema.on_error == OnError::kClamp) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = to_unit(static_cast<float>(i));
}

float Scaler::to_unit(float v) const {
  if (!(v >= lo_)) return 0.0f;
  if (v > hi_) return 1.0f;
  return (v - lo_) / (hi_ - lo_);
}

bool Scaler::scale(std::span<const std::byte> stored, IdxType type, float* out) const {
  bool all_fit = true;
  if (type == IdxType::kUint8) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const auto v = std::to_integer<std::size_t>(stored[i]);
      all_fit &= fits(static_cast<float>(v));
      out[i] = bytes_[v];
    }
  } else {
    for (std::size_t i = 0; i < stored.size() / 4; ++i) {
      const float v = load_float(stored.data() + 4 * i);
      all_fit &= fits(v);
      out[i] = to_unit(v);
    }
  }
  return all_fit || clamp_;
}

}  // namespace muffle::data
