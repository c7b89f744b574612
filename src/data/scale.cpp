#include "scale.hpp"

#include <algorithm>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::data {

Scaler::Scaler(const schema::Schema& schema)
    : lo_(static_cast<float>(schema.lo)),
      hi_(static_cast<float>(schema.hi)),
      clamp_(schema.on_error == schema::OnError::kClamp) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = to_unit(static_cast<float>(i));
}

float Scaler::to_unit(float v) const {
  if (!(v >= lo_)) return 0.0f;
  if (v > hi_) return 1.0f;
  return (v - lo_) / (hi_ - lo_);
}

void Scaler::make_room(std::size_t n, std::size_t dims, bool as_bytes, Batch& batch) const {
  batch.n = 0;
  batch.x.resize(as_bytes ? 0 : n * dims);
  batch.bytes.resize(as_bytes ? n * dims : 0);
  batch.scale = as_bytes ? &bytes_ : nullptr;
  batch.y.resize(n);
}

bool Scaler::put(std::span<const std::byte> stored, IdxType type, std::size_t i, Batch& batch) const {
  if (!batch.as_bytes()) return scale(stored, type, batch.x.data() + i * (batch.x.size() / batch.y.size()));
  require(type == IdxType::kUint8, "records of float32 cannot be handed out as bytes");
  std::memcpy(batch.bytes.data() + i * stored.size(), stored.data(), stored.size());
  return clamp_ || std::all_of(stored.begin(), stored.end(), [&](std::byte v) {
           return fits(static_cast<float>(std::to_integer<std::size_t>(v)));
         });
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
