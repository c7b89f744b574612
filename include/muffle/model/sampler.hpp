#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::model {

/// Labels for samples first..first+n-1 out of `total`. Stratified: class shares are met as closely as
/// whole numbers allow, over the `total` samples; otherwise drawn independently.
std::vector<std::int64_t> draw_labels(std::uint64_t seed, bool training, std::uint32_t substream,
                                      std::uint64_t first, std::size_t n, std::uint64_t total,
                                      const std::vector<double>& class_share, bool stratified);

/// Draws records from a trained network or a closed form. Immutable and thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Records first .. first + labels.size() - 1 of the stream `seed`, with these labels (0 .. C-1): a pure
  /// function of the model, the seed and the records that are drawn in one call (products run over a call's
  /// records together).
  /// @param out  labels.size() x d row-major, in [0, 1] up to rounding
  /// @param spread  for each record what its normal numbers are multiplied by (of a normal law: how many
  /// times as far it lies from the mean); empty: 1. Laws that are made of no normal numbers take no notice.
  void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
            std::span<float> out, std::span<const float> spread = {}) const {
    require(spread.empty() || spread.size() == labels.size(), "records do not fit their spread");
    draw_spread(seed, first, labels, out, spread);
  }

 private:
  virtual void draw_spread(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                           std::span<float> out, std::span<const float> spread) const = 0;
};

}  // namespace muffle::model
