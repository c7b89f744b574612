#pragma once

#include <memory>

#include "muffle/features/block.hpp"
#include "muffle/features/second_moments.hpp"

namespace muffle::features {

/// Records per tile: enough to fill a matrix product for each of ten classes.
inline constexpr std::size_t kMomentsTile = 1024;

/// SecondMoments::scale() of z with q numbers.
double moments_scale(std::size_t order, int bits);

/// Sums z z^T. @param moments  whose lift is built; copied.
std::unique_ptr<Block> make_moments_block(const SecondMoments& moments);

}  // namespace muffle::features
