#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/round_parties.hpp"

namespace muffle::privacy {

// How the ranks' sums came together, and so who is trusted with what. Public; artifact and statement say it.

/// The sites of a roster that signed the ranks' keys: signatures alone say whose a rank is.
struct SignedSites {
  int count = 1;
  int largest = 1;  ///< how many ranks the site with most of them holds
  bool operator==(const SignedSites&) const = default;
};

/// A single coordinator saw the exact sum and added the noise; nothing was masked.
struct SingleCoordinator {
  int ranks = 1;  ///< P
  bool operator==(const SingleCoordinator&) const = default;
};

/// Secure aggregation: nobody saw a summand. A coordinator added the noise.
struct Masked {
  int ranks = 1;
  std::optional<SignedSites> sites{};  ///< none: keys were not signed
  bool operator==(const Masked&) const = default;
};

/// Masked, and every rank added a share of the noise.
struct DistributedNoise {
  int ranks = 1;
  int colluding = 0;  ///< t, how many ranks may pool what they know; 0 <= t < P
  std::optional<SignedSites> sites{};
  bool operator==(const DistributedNoise&) const = default;
};

/// A round between institutions: every site added a share of the noise and masks, key holders opened the sum.
struct Apart {
  RoundParties parties{};
  int sealed = 0;  ///< u: contributions that count; k <= u <= n
  /// How many key holders were missing, so that others stood in for them; <= f. Of several rounds: in the
  /// last.
  int stood_in = 0;
  /// Likewise, round by round, of those before the last. Empty: there are none, or nobody may be missing.
  std::vector<int> stood_in_before{};
  /// How many key holders have opened the sum of a round (1 ..), each with its top-up. Of one that is still
  /// to come: all.
  int opened(std::size_t round) const;
  bool operator==(const Apart&) const = default;
};

/// @param missing  key holders, round by round; one round at least
Apart apart_of(const RoundParties& parties, int sealed, std::vector<int> missing);

/// How the sums of one release came together.
using Summed = std::variant<SingleCoordinator, Masked, DistributedNoise, Apart>;

/// Several releases by one plan, of different sites, were added up afterwards, each with its noise.
struct Combined {
  std::vector<Summed> parts{};  ///< 2 at least
  bool same_people = false;     ///< whether a person may be in several of them
  bool operator==(const Combined&) const = default;
};

using AggregationMode = std::variant<SingleCoordinator, Masked, DistributedNoise, Apart, Combined>;
/// @throws InvariantError  it is a combined one.
Summed one_of(const AggregationMode& mode);
AggregationMode mode_of(const Summed& summed);

/// Of a round between institutions: contributions; of combined releases: these.
int ranks_of(const AggregationMode& mode);
bool is_masked(const AggregationMode& mode);
/// None where keys were not signed, or nothing was masked.
std::optional<SignedSites> sites_of(const AggregationMode& mode);
/// Null in the other modes.
inline const DistributedNoise* distributed(const AggregationMode& mode) {
  return std::get_if<DistributedNoise>(&mode);
}
/// Null in the other modes.
inline const Apart* apart(const AggregationMode& mode) { return std::get_if<Apart>(&mode); }
/// Null in the other modes.
inline const Combined* combined(const AggregationMode& mode) { return std::get_if<Combined>(&mode); }

/// "single coordinator", "masked", "distributed noise", "apart", "combined".
std::string name_of(const AggregationMode& mode);
/// Two or three sentences for the privacy statement: who saw what, and who is trusted with what.
/// @param promised  of the release; none for test noise. With t = 0 the text says what of it holds against a
/// rank that takes off its own share.
std::string describe(const AggregationMode& mode, const std::optional<Guarantee>& promised);

/// @throws ConfigError  a site that holds more ranks than may collude, unless there is one rank; ranks,
/// colluding or sites out of range; parties as the round's noise demands; all problems in one message.
void require_valid(const AggregationMode& mode);

}  // namespace muffle::privacy
