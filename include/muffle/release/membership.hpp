#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muffle/release/sealed_round.hpp"

namespace muffle::release {

// Who may take part in rounds between institutions, and what each says of a round beside its numbers: what a
// reader makes of messages (release/messages.hpp) that have no numbers. All public.

/// A charter that was read, and who is in it.
struct Consortium {
  struct Member {
    crypto::SitePublicKey key{};
    Card card;
  };
  Sha256Digest id{};
  crypto::SitePublicKey coordinator{};
  Charter charter;
  std::vector<Member> members;  ///< in the order of their cards

  /// @throws ProtocolError  cards that stand twice, or are not their holders'; a member whose key is revoked;
  /// a sender who is no coordinator by its own card; other coordinators; versions that do not begin at 1.
  Consortium(const SignedHeader& header, const std::string& name);
  /// None: nullptr.
  const Member* find(const crypto::SitePublicKey& key) const;
  const Member* find(std::string_view member) const;
  /// Whether this version may follow `earlier`. @throws ProtocolError  it is no next version of it, is
  /// another coordinator's, or forgets a revocation.
  void require_follows(const Consortium& earlier) const;
};

/// A member accepts a charter. @returns what it signs.
SignedHeader countersignature_of(const Consortium& consortium);
/// @returns the member who accepts. @throws ProtocolError  it is of another charter, or of nobody in it.
const Consortium::Member& check_countersignature(const Consortium& consortium, const SignedHeader& header);

/// @returns what a site signs. By public numbers or a person's decision alone: who takes part is public.
SignedHeader decline_of(const ProposedRound& round, DeclineCode code);
struct Declined {
  std::size_t site;  ///< by its place in the proposal
  DeclineCode code;
};
/// @throws ProtocolError  it is of another round, or of nobody who was invited.
Declined check_decline(const ProposedRound& round, const SignedHeader& header);

/// Whether a message is called as its kind, round and sender have it, as far as it tells by itself: the
/// version in a countersignature's name is that of the charter that it answers.
bool is_called(std::string_view name, const SignedHeader& header);
/// What the messages of a round, and its release, are called, and the most bytes of each. The proposal is not
/// among them.
std::map<std::string, std::uint64_t> messages_of(const ProposedRound& round);
/// Whether a party's steps read a message of the round that is called so (of messages_of()). Sums are added
/// up by the coordinator, and once more by each key holder before its receipt: sites that are none read
/// nobody's contribution or opening but their own.
bool is_for(const crypto::SitePublicKey& party, const ProposedRound& round, const std::string& name);

/// A person, whose key a site's policy knows, approves a round for that site. It stays at the site.
/// @param site  the site's key: an approval is of no use to another one
/// @param day   when, for those who look later at who decided what: days since 1970-01-01, UTC. An approval
/// ends with the proposal's deadlines, which its hash names; no day makes it longer or shorter.
/// @returns what the person signs
SignedHeader approval_of(const ProposedRound& round, const crypto::SitePublicKey& site, std::uint64_t day);
/// Whether this is somebody's approval of that round for that site: the sender's.
bool approves(const SignedHeader& header, const ProposedRound& round, const crypto::SitePublicKey& site);
/// Likewise of a key holder's opening: a person has seen what the seal counts, and lets it open that sum and
/// no other. @param seal  SealedRound::id
SignedHeader opening_approval_of(const ProposedRound& round, const Sha256Digest& seal,
                                 const crypto::SitePublicKey& holder, std::uint64_t day);
bool approves_opening(const SignedHeader& header, const ProposedRound& round, const Sha256Digest& seal,
                      const crypto::SitePublicKey& holder);
/// What a person signs who declines a round for a site: kept there, as approvals are. What leaves the site is
/// decline_of(), which names nobody.
SignedHeader personal_decline_of(const ProposedRound& round, const crypto::SitePublicKey& site,
                                 DeclineCode code, std::uint64_t day);
/// Of an approval, or of what a person signed who declined. @throws ProtocolError  it says none.
std::uint64_t approved_on(const SignedHeader& header);

}  // namespace muffle::release
