#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/release/artifact.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::release {

// What a round between institutions ends with: the release, the coordinator's word that it is the round's,
// and what others say who have seen it. All public.

/// The release of a sealed round. Whoever has the same messages makes the same one, byte for byte.
/// @param earlier  the rounds before it (earlier_rounds()), whose sums are in the release, too
/// @param opened  by each holder, as Summation::opened() has it. @param version  of the muffle that sums
/// @throws ConfigError, ProtocolError  under replace-one: the sites hold more records than were proposed; the
/// seal counts other sites than an earlier one.
Artifact artifact_of_round(const ProposedRound& round, const SealedRound& seal,
                           const std::vector<EndedRound>& earlier, const std::vector<OpenedBy>& opened,
                           privacy::NoisySum&& sum, const std::string& version);
/// Of a round that a release records, by key holder, how its part came to be.
/// @throws ProtocolError  it names a message by something that is no id.
std::vector<OpenedBy> opened_in(const RoundRecord& record);
/// The coordinator's statement: this file is the round's release. @returns what it signs
SignedHeader release_statement_of(const ProposedRound& round, const SealedRound& seal,
                                  std::string_view release);
/// @throws ProtocolError  it is of another round or seal, not the coordinator's, or names another file.
void check_release_statement(const ProposedRound& round, const Sha256Digest& seal, const SignedHeader& header,
                             std::string_view release);

/// The coordinator gives the round up: nothing more is contributed, sealed, opened or released in it. What
/// was charged stays charged. @returns what it signs
SignedHeader abandonment_of(const ProposedRound& round, AbandonCode code);
/// @throws ProtocolError  it is of another round, or not the coordinator's.
AbandonCode check_abandonment(const ProposedRound& round, const SignedHeader& header);

/// What a party has found that added the round up by itself, from contributions and openings.
enum class Found {
  kSame,         ///< the coordinator's release, or its sum
  kNotAllThere,  ///< it has not all of the messages
  kOther,        ///< something else: an objection, which anybody can check
};
/// A party has seen the round's release, its sum, or its abandonment.
struct Receipt {
  bool key_erased = false;       ///< its round key, and shares of others'
  std::optional<Found> found{};  ///< of an abandonment: none
};
/// @param statement  of the release, the sum or the abandonment @returns what it signs
SignedHeader receipt_of(const ProposedRound& round, const SignedHeader& statement, const Receipt& receipt);
/// @throws ProtocolError  it answers another statement, or is of nobody in the round.
Receipt check_receipt(const ProposedRound& round, const SignedHeader& statement, const SignedHeader& header);

}  // namespace muffle::release
