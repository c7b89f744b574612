// Maps that are released in rounds by a rule of their own (features::SteppedFeatures): their rounds in a
// plan, and their rule carried out on released numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/release/artifact.hpp"
#include "muffle/release/plan.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::pair_graph {

/// NAME-r, the name of one round's map of the map NAME.
std::string name_of_round(const std::string& name, std::size_t round);

/// Puts a map for each round in the place of every such map: equal weights, which together cost what the one
/// would. @throws ConfigError  its name is too long.
void steps_in_rounds(std::vector<features::NamedMap>& maps);

/// Of map b of the plan, such a map. @param so_far  release::released_so_far(), or more
std::shared_ptr<const features::FeatureMap> next_step(const release::ReleasePlan& plan, std::size_t b,
                                                      const release::Artifact& so_far);

/// Carries the rules out again; none: there is no such map. Refused: names, weights, rounds or what the
/// rounds sum are not as they follow.
std::optional<release::Check> repeat_steps(const release::Artifact& artifact);

}  // namespace muffle::pair_graph
