#pragma once

#include <span>

#include "bins.hpp"
#include "results.hpp"

namespace muffle::report {

/// How far the scores of these rows reach by the chance of which rows they are, the real ones as given: half
/// of intervals of 95 %. Delete-a-group jackknife (Kott, Survey Methodology 27, 2001) with 10 groups, of at
/// most 10,000 rows, to scale.
/// @param bins  of the first columns, for pairs  @returns none of fewer than 100 rows
std::optional<ScoreReach> reach_by_rows(const Rows& real, const Rows& rows, std::span<const Bins> bins,
                                        const Heartbeat& heartbeat);

}  // namespace muffle::report
