#pragma once

#include <cstdint>

#include "muffle/features/block.hpp"

namespace muffle::features {

/// What is proven about one-hot features x / sqrt(d) of k categorical columns with d categories in all: every
/// record has exactly k ones among d entries, so the norm is sqrt(k/d), rounded up, and no entry is negative.
/// (DP-MERF takes the loose bound 1 for it.)
/// @throws ConfigError  not 1 <= k <= d.
BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories);

}  // namespace muffle::features
