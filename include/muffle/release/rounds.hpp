#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

// A release of several rounds: each has maps of its own, and what a later round sums may follow from the
// released numbers of those before it: which tables are counted, or where a decoder stands. All of this is
// public.

/// The finished rounds of a release that is not whole yet, as its coordinator keeps them between two rounds
/// (release.mfl.rounds).
struct KeptRounds {
  std::string charge;       ///< that pays for all rounds
  std::string config_hash;  ///< of the keys that the release depends on
  bool is_private = true;   ///< false: seeded noise, NOT PRIVATE
  std::string tables;       ///< tables_text() of the finished rounds
  std::string summed;       ///< summed_by() of all of them
  /// Round by round: its released vector, that of ReleasePlan::of_round(), in lattice units, noisy.
  std::vector<std::vector<std::int64_t>> values;

  std::size_t rounds() const { return values.size(); }
  bool operator==(const KeptRounds&) const = default;
};

/// How sums come together, as far as it decides who saw what, and so must be one thing for all rounds of a
/// release: what its statement says of the whole. The ledger's ROUND lines say it, too. Without masks the
/// number of ranks decides nothing. @param roster  SHA-256 in hex of the sites' roster; empty: there is none
std::string summed_by(const privacy::AggregationMode& mode, const std::string& roster);

/// The file's bytes, and back. @throws ProtocolError.
std::string rounds_bytes(const KeptRounds& kept);
KeptRounds parse_rounds(std::string_view bytes, const std::string& name);

/// What the maps of the first `last` rounds count, or go on from, as JSON for other sites and for the file.
std::string tables_text(const ReleasePlan& plan, std::size_t last);
/// Makes the plan's maps count what such a text says. @param plan  of the same settings
/// @throws ProtocolError  it is not of such a plan. @param name  what the error calls it
void read_tables(ReleasePlan& plan, const std::string& text, const std::string& name);

/// What the maps of a round that go on by a rule of their own go on from (features::SteppedFeatures), in
/// their order, and back. @throws ConfigError  one is another than the map says.
std::vector<std::string> states_of(const ReleasePlan& plan, std::size_t round);
void take_states(ReleasePlan& plan, std::size_t round, const std::vector<std::string>& states);

/// The released vector of a whole plan from its rounds'. @throws InvariantError  lengths differ.
std::vector<std::int64_t> joined(const ReleasePlan& plan,
                                 const std::vector<std::vector<std::int64_t>>& rounds);
/// What was released in the first `rounds.size()` rounds, for whoever chooses what the next one counts:
/// readers of tables take it; it is no whole release.
Artifact released_so_far(const ReleasePlan& plan, const privacy::AggregationMode& mode,
                         const std::vector<std::vector<std::int64_t>>& rounds);
/// The same of a whole release: what was released before round `round`.
Artifact rounds_before(const Artifact& whole, std::size_t round);

}  // namespace muffle::release
