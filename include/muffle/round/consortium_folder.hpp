#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "muffle/release/membership.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {

/// A file of the exchange that was kept aside, and why: for the status, and for people.
struct SetAside {
  std::string name;
  std::string why;
};

/// What lies in an exchange that is of no single round: who is in the consortium. Files that are not what
/// their names say are set aside, and stop nobody. Public.
struct Membership {
  std::vector<release::SignedHeader> cards;
  std::vector<release::Consortium>
      charters;  ///< by version, each following the one before it, if that is there
  std::vector<release::SignedHeader> countersignatures;  ///< of those charters, by members
  std::vector<release::SignedHeader> round_keys;
  std::vector<SetAside> set_aside;

  /// The newest charter of this coordinator; none: nullptr.
  const release::Consortium* newest(const crypto::SitePublicKey& coordinator) const;
};
/// @throws IoError.
Membership read_membership(Exchange& exchange);

/// Where a party keeps the charters of its coordinator that it has seen: PARTY/charters/. Whoever carries the
/// exchange can withhold a charter there, and with it a revocation; what was seen once stays seen.
struct CharterShelf {
  std::filesystem::path party;
  crypto::SitePublicKey coordinator{};
};
/// Likewise, with the charters that were seen before; keeps those that are new. One that contradicts what was
/// seen (another of its version, a revocation that is forgotten) is set aside.
/// @throws ProtocolError  what was kept is damaged: nothing can be told; IoError.
Membership read_membership(Exchange& exchange, const CharterShelf& shelf);
/// What is kept there, by version. @throws ProtocolError, IoError.
std::vector<release::SignedHeader> kept_charters(const CharterShelf& shelf);
/// Keeps a charter that the party itself has made, before anybody sees it. @throws IoError.
void keep_charter(const CharterShelf& shelf, const release::SignedHeader& charter);

/// A message of the exchange; none: it is not there. @param most  bytes; none: what its name allows a message
/// without numbers. @throws ProtocolError  it is no message, or larger; IoError.
std::optional<release::Message> read_message(Exchange& exchange, const std::string& name,
                                             std::optional<std::uint64_t> most = {});

/// The proposals of the exchange, each under its name; what is none is set aside. @throws IoError.
struct Proposals {
  struct Entry {
    std::string name;
    release::ProposedRound round;
  };
  std::vector<Entry> rounds;  ///< by name
  std::vector<SetAside> set_aside;
};
Proposals read_proposals(Exchange& exchange);
/// The round that a person means. @param digits  the first hexadecimal digits of its id, 4 at least; empty:
/// the only one. @throws UsageError  none or several begin like that; ProtocolError  the file of the one that
/// is meant is no proposal.
release::ProposedRound find_round(Exchange& exchange, const std::string& digits);

}  // namespace muffle::round
