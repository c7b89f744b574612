#pragma once

#include <vector>

#include "muffle/features/block.hpp"

namespace muffle::features {

// A block may be scaled by a public weight w before it is released, to shift budget between blocks: one sigma
// in feature units covers all of them, so a block of weight w gets noise sigma / w in units of its own. The
// integers that are summed stay as they are; only the bound and the units change. Rounded up, so that a bound
// is never too small nor noise too little; exact for w = 1.

/// @throws ConfigError  w is not a number from 1e-6 to 1e6; all of these.
BlockBound weighted(BlockBound bound, double weight);
std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight);

}  // namespace muffle::features
