#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/release/messages.hpp"

namespace muffle::release {

// A round between institutions as its messages tell it: what was proposed, whose contributions count, what
// they add up to. Public: whoever has the messages has the release, and can tell that it is theirs.

/// A proposal that was read, and what follows from it. Public.
struct ProposedRound {
  crypto::RoundId id{};
  crypto::SitePublicKey coordinator{};
  Proposal proposal;
  ReleasePlan summed;            ///< what this round sums: the proposal's plan, or its part of this round
  privacy::SiteNoisePlan noise;  ///< of `summed`
  std::size_t length = 0;        ///< L: numbers in what is summed

  /// @throws ProtocolError, ConfigError  as read_proposal().
  ProposedRound(const Message& message, const std::string& name);
  /// Which of the sites, or of the holders, has this key.
  std::optional<std::size_t> site(const crypto::SitePublicKey& key) const;
  std::optional<std::size_t> holder(const crypto::SitePublicKey& key) const;
  /// Whether key holders may be missing, so that sites share their keys.
  bool shares_keys() const { return proposal.parties.missing_holders > 0; }
  /// Whether its sum is, or completes, the release; else another round follows.
  bool last() const { return proposal.number() == proposal.plan.rounds(); }
  /// Of the release's first round: sites are charged, and people approve, under this id.
  const crypto::RoundId& first() const { return proposal.later ? proposal.later->first : id; }
  /// Of the file of the whole release.
  std::uint64_t most_release_bytes() const;
};

/// @throws ProtocolError  it is of another kind, of another round, or answers another message.
void require_of_round(const ProposedRound& round, const SignedHeader& header, MessageKind kind,
                      const Sha256Digest& answers);

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
  /// That of a site, by its place in the proposal; null: it counts none.
  const SignedHeader* contribution_of(std::size_t site) const;
};

/// What a sum of this round says beside its numbers. @throws ProtocolError  fields.
Sum sum_in(const ProposedRound& round, const SignedHeader& header);

/// The most bytes of what a seal has for each contribution: its signed header.
std::uint64_t most_bytes_sealed(const Proposal& proposal);

/// What an opening of this seal says beside its numbers, of whichever key holder.
/// @throws ProtocolError  it is of another seal or length, of nobody who holds a key, or objects to
/// strangers.
Opening check_opening(const ProposedRound& round, const SealedRound& seal, const SignedHeader& header);

/// A request for stand-ins that was read: who is missing.
struct AskedRound {
  Sha256Digest id{};
  std::vector<std::size_t> missing;  ///< key holders by their place in the proposal, ascending

  /// @throws ProtocolError  it is not the coordinator's, of another seal, or names more than may be missing,
  /// somebody twice, or nobody's key.
  AskedRound(const ProposedRound& round, const SealedRound& seal, const SignedHeader& header);
};

/// What key holders give for those who are missing, and what can be made of it.
class StandIns {
 public:
  /// @param round, seal  outlive this object
  StandIns(const ProposedRound& round, const SealedRound& seal);

  /// @throws ProtocolError  it answers another request, is of nobody who could answer it, stands in for
  /// others than it names, or was there already.
  void take(const AskedRound& request, const SignedHeader& header);
  /// Ids of those that count for a missing key holder: m - f, in the proposal's order, whose shares make the
  /// keys that all sealed sites have committed to. Empty: too few are there. If all are, and none make these
  /// keys: the first m - f.
  std::vector<Sha256Digest> used(std::size_t missing) const;
  /// By their place: who gave a share for a missing one that does not go with those that count.
  std::vector<std::size_t> wrong(std::size_t missing) const;
  /// Takes the streams of a missing key holder off. @throws ProtocolError  the shares make other keys than
  /// the sites have committed to.
  void take_off(std::size_t missing, std::span<std::uint64_t> total) const;

 private:
  struct Given {
    Sha256Digest id{};
    StandIn body;
  };
  /// Its shares for the missing one; null: it gives none.
  const StandIn::Missing* of(std::size_t holder, std::size_t missing) const;
  std::vector<std::size_t> givers(std::size_t missing) const;
  /// Those whose shares count, as used() has it.
  std::vector<std::size_t> counted(std::size_t missing) const;
  /// Of a sealed site, by its place in the seal: the key that these holders' shares make.
  crypto::StreamKey key_of(std::size_t site, std::size_t missing, const std::vector<std::size_t>& from) const;
  bool has_committed(std::size_t site, std::size_t missing, const crypto::StreamKey& key) const;
  bool make_all_keys(std::size_t missing, const std::vector<std::size_t>& from) const;

  const ProposedRound& round_;
  const SealedRound& seal_;
  std::vector<std::optional<Given>> given_;  ///< by holder
  std::size_t asked_ = 0;                    ///< key holders who are said to be missing
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
  /// As StandIns::take(). What a key holder has opened itself needs none.
  void take_stand_in(const AskedRound& request, const SignedHeader& stand_in);
  /// By key holder. Those without an opening and with too few stand-ins have neither.
  std::vector<OpenedBy> opened() const;
  /// Key holders whose shares for a missing one were wrong, and were not needed, by their place.
  std::vector<std::size_t> wrong_stand_ins() const;
  /// Sites, by name, whose MACs a holder says are wrong. If so, its masks are still in the sum, which is then
  /// uniform; if not, the key holder lies, and ends no round by that: finish() tells which.
  const std::vector<std::string>& objections() const { return objections_; }

  /// @throws ProtocolError  a contribution or an opening is missing; or a number is beyond what records and
  /// noise can make it: somebody's vector is not what the protocol says; or somebody objects, and there are
  /// too few numbers to tell by (kTellingNumbers). Then there is no release.
  privacy::NoisySum finish() &&;

 private:
  const ProposedRound& round_;
  const SealedRound& seal_;
  std::vector<std::uint64_t> total_;
  std::vector<bool> added_;
  std::vector<std::optional<Sha256Digest>> opened_;
  StandIns stand_ins_;
  std::vector<std::string> objections_;
  bool secure_ = true;
};

}  // namespace muffle::release
