#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/release/later_rounds.hpp"
#include "muffle/round/consortium_folder.hpp"

namespace muffle::round {

/// What a person at the coordinator may say of a round; what is left out has a default.
struct Wishes {
  std::string title{};
  std::vector<std::string> sites{};  ///< by name; empty: all members that hold records
  /// By name; empty: the first 3 that the charter lists, of more than 7 sites 5.
  std::vector<std::string> holders{};
  std::optional<int> least{};              ///< k; default: n - 1, of more than 7 sites 0.6 n, rounded up
  std::optional<int> expected{};           ///< N; default: n
  std::optional<int> colluding{};          ///< t; default: 1, of more than 7 sites 2
  std::optional<int> colluding_holders{};  ///< t_h; default: 1
  /// f; default: 0, of more than 7 sites 1 if there are key holders enough for it.
  std::optional<int> missing_holders{};
  /// Seconds since 1970. The last of them: if any key holder may be missing.
  std::uint64_t contribute_until = 0, open_until = 0, stand_in_until = 0;
};

/// A proposal, and members that it leaves out: "SOUTH: has not countersigned the charter".
struct Draft {
  release::Proposal proposal;
  std::vector<std::string> left_out;
};

/// Only members who have countersigned the coordinator's newest charter are in it, and each key holder's next
/// round key that no earlier proposal names.
/// @param earlier  proposals of this coordinator
/// @throws ConfigError  there is no charter; somebody who is named is no such member; a key holder has no
/// round key left; parties or noise that the theorem does not cover.
Draft draft_proposal(release::ReleasePlan plan, const Membership& members,
                     const crypto::SitePublicKey& coordinator, std::span<const release::Proposal> earlier,
                     const Wishes& wishes);

/// The proposal of a release's next round: the same parties with round keys that no earlier proposal names.
/// @param plan  of the whole release, with what this round counts. @param before  all rounds before it
/// @param wishes  its deadlines count. @throws ConfigError  as draft_proposal().
Draft draft_later(release::ReleasePlan plan, const Membership& members,
                  const std::vector<release::EndedRound>& before, std::span<const release::Proposal> earlier,
                  const Wishes& wishes);

/// The charter by which the parties of a release go on in a later round: the newest that has all of them. Who
/// has another key by a newer one finishes the release with the old key.
/// @param sites  those of the first round's seal, by their place in the proposal
/// @throws ConfigError  there is none, or one has revoked a key of theirs.
const release::Consortium& charter_of_all(const release::Proposal& proposal,
                                          const std::vector<std::size_t>& sites, const Membership& members,
                                          const crypto::SitePublicKey& coordinator);

/// What the sum will carry for each number of contributions, and what a site that everybody betrays keeps:
/// for people, one line each.
std::string noise_in_words(const release::Proposal& proposal);
/// The whole proposal for people, one line each.
std::string proposal_in_words(const release::ProposedRound& round);
/// "2026-12-10 12:00 UTC".
std::string date_in_words(std::uint64_t seconds);

}  // namespace muffle::round
