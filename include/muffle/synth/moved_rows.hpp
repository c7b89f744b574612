#pragma once

#include <string>
#include <vector>

#include "muffle/model/model_file.hpp"

namespace muffle::synth {

/// Where a rule moves more rows than this part, the model does not know it: what was moved has another law.
inline constexpr double kMostMoved = 0.02;

/// Of each constraint of the model's table: the share of 4,000 rows, as the model draws them, that break it,
/// so that sampling would move them. Empty: there is no constraint. By one thread, some seconds at most.
/// Privacy: from the model alone, so post-processing of its release.
std::vector<double> moved_shares(const model::Model& model);

/// What people are told of those above kMostMoved, a text for each: the constraint, its columns, the share.
std::vector<std::string> moving_rules(const model::Model& model);

}  // namespace muffle::synth
