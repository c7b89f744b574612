#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/round/messages.hpp"

namespace muffle::round {

// The three roles of a round between institutions, as what each makes of the messages that it was given. No
// file, no socket and no clock is in here; whoever drives a role keeps its books and carries its messages.

/// A proposal that was read, and what follows from it. Public.
struct ProposedRound {
  crypto::RoundId id{};
  crypto::SitePublicKey coordinator{};
  Proposal proposal;
  privacy::SiteNoisePlan noise;
  std::size_t length = 0;  ///< L: numbers in the released vector

  /// @throws ProtocolError, ConfigError  as read_proposal().
  ProposedRound(const Message& message, const std::string& name);
  /// Which of the sites, or of the holders, has this key.
  std::optional<std::size_t> site(const crypto::SitePublicKey& key) const;
  std::optional<std::size_t> holder(const crypto::SitePublicKey& key) const;
};

/// A site's one act.
class Contributor {
 public:
  /// @throws ConfigError  the key is none of the round's sites'. @param round, key  outlive this object
  Contributor(const ProposedRound& round, const crypto::SiteKey& key);

  /// The contribution: this site's sums under its share of the noise and a stream for each key holder. The
  /// share was drawn, and the charge written, for this one contribution: it is made once, kept, and sent as
  /// often as need be. @param sums  over all of the site's ranks; consumed, as the share
  /// @param charge_id  of the site's own ledger. @param records  m_i under replace-one, else 0
  /// @throws ProtocolError  a holder's round key is invalid.
  std::string contribute(embed::PartialSum&& sums, privacy::NoiseShare&& share, const release::Charge& charge,
                         const std::string& charge_id, std::uint64_t records) const;

 private:
  const ProposedRound& round_;
  const crypto::SiteKey& key_;
};

/// The site of this contribution, by its place in the proposal.
/// @throws ProtocolError  it is of another round or kind, of nobody who was invited, or of another length.
std::size_t check_contribution(const ProposedRound& round, const SignedHeader& header);

/// A seal that was read: whose contributions count.
struct SealedRound {
  Sha256Digest id{};
  Seal seal;
  std::vector<std::size_t> sites;  ///< by their place in the proposal, ascending

  /// @throws ProtocolError  it is not the coordinator's, of another round, counts too few, or somebody twice.
  SealedRound(const ProposedRound& round, const SignedHeader& header);
};

/// The coordinator's second message. @param contributions  checked, of different sites
/// @throws ConfigError  the key is not the proposal's, or too few have contributed.
std::string make_seal(const ProposedRound& round, const crypto::SiteKey& key,
                      std::vector<SignedHeader> contributions);

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
  std::string open(const SealedRound& seal, privacy::EntropySource& entropy,
                   const Heartbeat& heartbeat = {}) &&;

 private:
  const ProposedRound& round_;
  const crypto::SiteKey& key_;
  std::size_t place_;
  crypto::ExchangeKey round_key_;
};

/// Adds a round up, message by message, in any order. Anybody with the messages can: the result is public.
class Summation {
 public:
  /// @param round, seal  outlive this object
  Summation(const ProposedRound& round, const SealedRound& seal);

  /// @throws ProtocolError  it is none that was sealed, or was there already.
  void add_contribution(const Message& contribution);
  /// @throws ProtocolError  it is of another seal or of nobody who holds a key, or was there already.
  void take_opening(const Message& opening);
  /// Sites, by name, whose MACs a holder found wrong: the sum cannot be theirs.
  const std::vector<std::string>& objections() const { return objections_; }

  /// @throws ProtocolError  a contribution or an opening is missing; or a number is beyond what records and
  /// noise can make it: somebody's vector is not what the protocol says. Then there is no release.
  privacy::NoisySum finish() &&;

 private:
  const ProposedRound& round_;
  const SealedRound& seal_;
  std::vector<std::uint64_t> total_;
  std::vector<bool> added_, opened_;
  std::vector<std::string> objections_;
  bool secure_ = true;
};

}  // namespace muffle::round
