#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/crypto/key_shares.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/release/charged_document.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::round {

// The three roles of a round between institutions, as what each makes of the messages that it was given. No
// file, no socket and no clock is in here; whoever drives a role keeps its books and carries its messages.

using release::ProposedRound;
using release::SealedRound;

/// A site's one act.
class Contributor {
 public:
  /// @throws ConfigError  the key is none of the round's sites'. @param round, key  outlive this object
  Contributor(const ProposedRound& round, const crypto::SiteKey& key);

  /// The contribution: this site's sums under its share of the noise and a stream for each key holder. The
  /// share was drawn, and the charge written, for this one contribution: it is made once, kept, and sent as
  /// often as need be. @param sums  all of the site's; consumed, as the share
  /// @param charge  of the site's own ledger, for this round's release. @param records  m_i under
  /// replace-one, else 0
  /// @throws ProtocolError  a holder's round key is invalid. @throws InvariantError  the charge is for
  /// another release.
  std::string contribute(embed::PartialSum&& sums, privacy::NoiseShare&& share, const release::Charge& charge,
                         std::uint64_t records) const;

 private:
  const ProposedRound& round_;
  const crypto::SiteKey& key_;
};

/// The coordinator's second message. @param contributions  checked, of different sites
/// @throws ConfigError  the key is not the proposal's, or too few have contributed.
std::string make_seal(const ProposedRound& round, const crypto::SiteKey& key,
                      std::vector<release::SignedHeader> contributions);

/// A key holder's one act.
class KeyHolder {
 public:
  /// @throws ConfigError  the key is none of the round's holders', or the round key not the one that was
  /// named for it. @param round, key  outlive this object
  KeyHolder(const ProposedRound& round, const crypto::SiteKey& key, crypto::ExchangeKey round_key);

  /// What opens this seal and no other: the sum of this holder's streams over the contributions that count,
  /// and its top-up of the noise. The round key is used up: whoever opens a second seal for it breaks the
  /// guarantee, so that the opening is written down before it is sent, and sent again as it is.
  /// @throws ProtocolError  a contribution's point is invalid.
  struct Opened {
    std::string message;
    /// What the sites gave this holder of their keys toward the others, where some may be missing: once the
    /// round key is gone, nothing else has it.
    std::optional<crypto::HeldShares> shares;
  };
  Opened open(const SealedRound& seal, privacy::EntropySource& entropy, const Heartbeat& heartbeat = {}) &&;

 private:
  const ProposedRound& round_;
  const crypto::SiteKey& key_;
  std::size_t place_;
  crypto::ExchangeKey round_key_;
};

/// The coordinator's question who stands in for those who are missing. @param missing  by their place,
/// ascending
std::string make_stand_in_request(const ProposedRound& round, const SealedRound& seal,
                                  const crypto::SiteKey& key, const std::vector<std::size_t>& missing);

/// What a key holder says to that, who has opened this seal. Once in a round: whoever answers two requests
/// gives more keys away than may be missing.
/// @param opened  key holders whose opening is there: for them nobody stands in
/// @returns none: all that were said to be missing have opened
/// @throws ProtocolError  the request names this very holder.
std::optional<std::string> make_stand_in(const ProposedRound& round, const SealedRound& seal,
                                         const release::AskedRound& request, const crypto::SiteKey& key,
                                         const crypto::HeldShares& shares,
                                         const std::vector<std::size_t>& opened);

}  // namespace muffle::round
