#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muffle::model {

/// Labels for samples first..first+n-1 out of `total`. Stratified: class shares are met as closely as
/// whole numbers allow, over the `total` samples; otherwise drawn independently.
std::vector<std::int64_t> draw_labels(std::uint64_t seed, bool training, std::uint32_t substream,
                                      std::uint64_t first, std::size_t n, std::uint64_t total,
                                      const std::vector<double>& class_share, bool stratified);

}  // namespace muffle::model
