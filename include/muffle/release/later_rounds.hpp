#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/release/artifact.hpp"
#include "muffle/release/round_evidence.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::release {

// A release of several rounds (privacy.rounds) between institutions. Each round is one like any other, with a
// proposal, round keys, contributions, a seal and openings of its own; it ends with its noisy sum instead of
// a release, and the next one's proposal names that sum. Whoever is in the first seal is in all. All public.

/// A round that another one follows, from its proposal to its sum.
struct EndedRound {
  ProposedRound round;
  SealedRound seal;
  Sum sum;
  Sha256Digest id{};                 ///< of the sum's message
  std::vector<std::int64_t> values;  ///< noisy, lattice units: those of round.summed

  /// @throws ProtocolError  the seal, or the sum, is not this round's, or not its coordinator's.
  EndedRound(ProposedRound proposed, const SignedHeader& sealed, const Message& summed);
};

/// The coordinator's word on what a round has come to. @returns what it signs, beside the numbers
/// @param opened  by each holder, as Summation::opened() has it
SignedHeader sum_of(const ProposedRound& round, const SealedRound& seal, const std::vector<OpenedBy>& opened,
                    bool secure_noise);
/// @param seal  id() of the round's. @throws ProtocolError  it is of another round or seal, or not the
/// coordinator's.
void check_sum(const ProposedRound& round, const Sha256Digest& seal, const SignedHeader& header);

/// Whether one round's proposal goes on where another has ended: the same release, by the same parties with
/// new round keys, under the same noise; what was counted stays as it was. @throws ProtocolError  it does
/// not.
void require_follows(const EndedRound& before, const ProposedRound& round);

/// The rounds before one, read message by message; before a first round there are none. Each is checked by
/// its signatures, and as require_follows() does; that contributions and openings add up to the sums,
/// check_evidence() tells.
class EarlierRounds {
 public:
  /// @param round  outlives this object
  explicit EarlierRounds(const ProposedRound& round);

  struct Next {
    std::string name;
    std::uint64_t most = 0;  ///< bytes that it may have
  };
  /// The message to read next; none: all were read.
  std::optional<Next> next() const;
  /// @throws ProtocolError  it is not what the rounds say.
  void read(std::string_view bytes);
  /// Once all were read: in their order. @throws ProtocolError  they are not one release's.
  std::vector<EndedRound> finish() &&;

 private:
  const ProposedRound& round_;
  std::vector<EndedRound> backwards_;  ///< the last of them first; they stay where they are
  std::optional<ProposedRound> before_;
  std::optional<SignedHeader> sealed_;
};
/// Likewise, of messages that are at hand. @param missing  gets the name of a message that is not there, and
/// nothing is returned; null: that is an error. @throws ProtocolError.
std::vector<EndedRound> earlier_rounds(const ProposedRound& round, const EvidenceReader& read,
                                       std::string* missing = nullptr);

/// @throws ProtocolError  this contribution is of nobody in the first seal, or says another number of records
/// than its site's first one. @param site  by its place in the proposal
void require_goes_on(const EndedRound& first, std::size_t site, const Contribution& contribution);
/// @throws ProtocolError  another round's seal counts other sites than the first, or other numbers of
/// records.
void require_same_sites(const EndedRound& first, const ProposedRound& round, const SealedRound& seal);

/// m under replace-one: of all sealed contributions. @throws ProtocolError  more than there can be.
std::uint64_t records_in(const ProposedRound& round, const SealedRound& seal);

/// What was released up to and with the last of these rounds, for whoever chooses what the next one counts.
/// @param rounds  one at least
Artifact released_before(const ReleasePlan& plan, const std::vector<EndedRound>& rounds);

}  // namespace muffle::release
