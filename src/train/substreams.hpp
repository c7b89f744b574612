#pragma once

#include <cstdint>
#include <limits>

namespace muffle::train {

/// Substreams of codes and labels: a training step's number; behind them those that models are measured with,
/// and those that the running statistics are taken from.
inline constexpr std::uint32_t kMeasuringSubstream = std::numeric_limits<std::uint32_t>::max() - 1;
inline constexpr std::uint32_t kSettlingSubstream = kMeasuringSubstream + 1;

}  // namespace muffle::train
