#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "muffle/release/plan.hpp"
#include "muffle/release/rounds.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::pair_graph {

// A release in several rounds: of a map of counts (privacy.rounds), or of a map that goes on step by step
// (features::SteppedFeatures). All of it follows from public numbers: settings, the known noise, and what
// earlier rounds released.

/// Puts a map for each round in the place of the map of counts, if settings.privacy.rounds asks for several,
/// or leaves it to us and several pay: NAME-1, NAME-2, ... with weights by the rounds' shares of mu^2, so
/// that the whole costs what the one map cost. The first counts what the first round counts; the others stand
/// for what they will count, and count what the configuration says until then (ReleasePlan::count_in).
/// Likewise, whatever privacy.rounds is, for each map that goes on step by step: as many as it has, of equal
/// weights. @throws ConfigError  rounds of counts are asked for and there is no map of counts, or more than
/// one, or its name is too long.
release::ReleaseSettings in_rounds(release::ReleaseSettings settings);

/// What map b of the plan is in its round: that of its tables which the numbers before it suggest, or the
/// step that follows from them.
/// @param so_far  release::released_so_far()
std::shared_ptr<const features::FeatureMap> map_of_next_round(const release::ReleasePlan& plan, std::size_t b,
                                                              const release::Artifact& so_far);

/// Of a whole release: where its first map that goes on step by step has come to after all its rounds
/// (features::SteppedFeatures). Null: it has none. @throws ProtocolError  not all of its rounds are there.
std::shared_ptr<const features::FeatureMap> last_step(const release::Artifact& artifact);

/// For `muffle verify`: chooses again what every round counts, from the tables that the release says its
/// owner wrote down and the noisy numbers before each round, and compares: names, weights, tables, groups,
/// their order. Of steps: works out again what each round sums. Anything that could carry data is in the
/// numbers then, under their noise. Refused: what differs on every build; skipped: what this build cannot
/// tell. None: a release of one round.
std::optional<release::Check> repeat_choices(const release::Artifact& artifact);

/// Each round's share of mu^2, for people; one number without rounds.
std::vector<double> shares_of_rounds(const release::ReleasePlan& plan);

}  // namespace muffle::pair_graph
