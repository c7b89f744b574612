#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/crypto/pair_keys.hpp"
#include "muffle/privacy/site_noise.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::release {

// The messages of a round between institutions (docs/explanation/between-institutions.md). Each is a file: a
// container whose header its sender has signed, with a vector of numbers behind it, or none. Whoever carries
// it can neither change it nor learn a sum from it. All of this is public, or covered by masks.

enum class MessageKind {
  // Of a round.
  kProposal,
  kDecline,
  kContribution,
  kSeal,
  kOpening,
  kRelease,
  kReceipt,
  // Of a consortium (release/membership.hpp).
  kCard,
  kCharter,
  kCountersignature,
  kRoundKeys,
  kApproval,
  // Of a round that makes no release.
  kAbandonment,
  // Of a round whose key holders may be missing.
  kStandInRequest,
  kStandIn,
  // Of a round that another one follows (privacy.rounds).
  kSum,
};
std::string_view name_of(MessageKind kind);

/// What a sender has signed: all of a message but its numbers, of which it holds the hash.
struct SignedHeader {
  MessageKind kind = MessageKind::kProposal;
  crypto::RoundId round{};         ///< id() of the proposal; zeros in a proposal
  crypto::SitePublicKey sender{};  ///< Ed25519
  Sha256Digest answers{};          ///< id() of the message that it answers; zeros: none
  nlohmann::json body{};
  std::uint64_t numbers = 0;
  Sha256Digest numbers_sha256{};  ///< zeros where there are none
  crypto::SiteSignature signature{};

  /// Names the message: SHA-256 of what is signed.
  Sha256Digest id() const;
  bool operator==(const SignedHeader&) const = default;
};

/// A message that was read, its signature and its numbers checked: the sender has said this. Whether the
/// sender may say it, and to whom, is the reader's business.
struct Message {
  SignedHeader header;
  std::vector<std::uint64_t> numbers;
};

/// Signs a header: fills in numbers, their hash and the signature.
/// @param numbers  masked, or public; empty: none
SignedHeader sign(SignedHeader header, const crypto::SiteKey& key,
                  std::span<const std::uint64_t> numbers = {});
/// A message's bytes. @param numbers  those that were signed
std::string message_bytes(const SignedHeader& header, std::span<const std::uint64_t> numbers = {});
/// @param name  what errors call it. @throws ProtocolError  no message, another spelling, a signature that is
/// not its sender's, other numbers than were signed.
Message parse_message(std::string_view bytes, const std::string& name);

/// The signed header of a message of which only the beginning is at hand, its signature checked. Of its
/// numbers nothing is known yet. @param size  bytes that the whole is to have
/// @throws ProtocolError  as parse_message(); the size is another one.
SignedHeader parse_message_start(std::string_view beginning, std::uint64_t size, const std::string& name);

/// A header as it stands inside another message, with its signature, and back, checked as parse_message()
/// does.
nlohmann::json header_json(const SignedHeader& header);
SignedHeader read_header(const JsonFields& fields);

/// A key holder, and its key of one round.
struct HolderKey {
  crypto::SignerKey holder;
  std::uint64_t number = 0;  ///< of the round key: no number is named twice
  crypto::ExchangePoint point{};
};

/// Of a proposal for a later round of a release (privacy.rounds): which one. Rounds follow one another, each
/// with messages and round keys of its own; what each site is charged for all of them, the first one's
/// proposal says.
struct LaterRound {
  std::uint64_t number = 2;  ///< 2 ..
  crypto::RoundId first{};   ///< id() of the first round's proposal
  crypto::RoundId before{};  ///< likewise of the round before
  Sha256Digest sum{};        ///< id() of the sum that the round before has ended with
};

/// What a coordinator proposes: what is released, by whom, and who may be missing or curious.
struct Proposal {
  std::string title;       ///< for people
  Sha256Digest charter{};  ///< id() of the charter that everybody named here is a member by; zeros: none
  ReleasePlan plan;        ///< of the whole release; what a later round counts is open until then
  std::optional<LaterRound> later{};  ///< none: this is the first round, or the only one
  privacy::RoundParties parties;
  std::vector<crypto::SignerKey> sites;  ///< n of them, each key once
  std::vector<HolderKey> holders;        ///< m of them, each key once
  /// What the plan's maps make of 64 made-up records (embed/self_check.hpp), by the coordinator's muffle: a
  /// site whose muffle or processor makes something else of them does not take part. Zeros: never asked.
  Sha256Digest self_check{};
  // Seconds since 1970. The deadlines are the coordinator's; what has expired, each party judges by its own
  // clock.
  std::uint64_t contribute_until = 0, open_until = 0;
  std::uint64_t stand_in_until = 0;  ///< 0 where no key holder may be missing

  /// After it nobody does anything more that the release could come of.
  std::uint64_t last_day() const { return parties.missing_holders > 0 ? stand_in_until : open_until; }
  /// Which of plan.rounds() it is for, from 1.
  std::uint64_t number() const { return later ? later->number : 1; }
};
nlohmann::json body_of(const Proposal& proposal);
/// @throws ProtocolError  fields, names, keys that stand twice, counts that are not the lists' lengths, a
/// plan that contradicts itself, deadlines that do not follow one another. @throws ConfigError  parties or
/// noise that the theorem does not cover.
Proposal read_proposal(const SignedHeader& header, const std::string& name);

/// Why a coordinator gives a round up.
enum class AbandonCode {
  kPerson,   ///< somebody decided it
  kTooFew,   ///< fewer than k contributed in time
  kMissing,  ///< key holders did not open in time, nor did others stand in for them
  kSpoiled,  ///< the sum is none that records and noise can make
};
std::string_view name_of(AbandonCode code);
/// Their names, in the order of the enumerators.
std::initializer_list<std::string_view> abandon_codes();

/// Why a site does not take part: a public code, by public numbers or a person's decision alone.
enum class DeclineCode { kPerson, kPolicy, kBudget, kSchema, kVersion, kNeedsTorch };
std::string_view name_of(DeclineCode code);
/// Their names, in the order of the enumerators.
std::initializer_list<std::string_view> decline_codes();

/// What a contribution says beside its numbers.
struct Contribution {
  crypto::ExchangePoint point{};                      ///< e_i G, fresh
  std::vector<crypto::PairCommitment> commitments{};  ///< by holder, in the proposal's order
  std::vector<crypto::PairMac> macs{};                ///< likewise, of the signed header without them
  /// Likewise, where key holders may be missing: for each a box (crypto::PairKey::box) with its shares of the
  /// keys toward the others, in the proposal's order. In hexadecimal digits; else empty.
  std::vector<std::string> boxes{};
  std::string charge{};       ///< id in the site's own ledger
  std::string data_id{};      ///< what the site calls the records that this ledger is of (data.id)
  std::uint64_t records = 0;  ///< m_i under replace-one; 0 where m is private
  bool secure_noise = true;   ///< false: seeded test noise; the release is NOT PRIVATE
};
/// Of a box: a share for each key holder but the one whose box it is.
inline std::size_t box_bytes(std::size_t holders) {
  return (holders - 1) * sizeof(crypto::KeyShare) + crypto::PairKey::kBoxOverhead;
}
nlohmann::json body_of(const Contribution& contribution);
/// @param shared  whether it has boxes
Contribution read_contribution(const SignedHeader& header, std::size_t holders, bool shared);
/// What the MACs are of.
std::string text_under_macs(const SignedHeader& contribution);

/// The headers of the contributions that count, in the order of the proposal's sites.
struct Seal {
  std::vector<SignedHeader> contributions;
};
nlohmann::json body_of(const Seal& seal);
Seal read_seal(const SignedHeader& header, std::size_t most);

/// What an opening says beside its numbers.
struct Opening {
  std::vector<crypto::SitePublicKey> objections{};  ///< sites whose MAC is wrong: their key is not ours
  bool secure_noise = true;                         ///< as a contribution's
};
nlohmann::json body_of(const Opening& opening);
Opening read_opening(const SignedHeader& header, std::size_t most);

/// How one key holder's part of a sum came to be.
struct OpenedBy {
  std::optional<Sha256Digest> opening{};  ///< id() of its own; none: it was missing
  std::vector<Sha256Digest> stand_ins{};  ///< then id() of the others', in the proposal's order
  bool operator==(const OpenedBy&) const = default;
};

/// How many key holders were missing.
int missing_in(const std::vector<OpenedBy>& opened);

/// What a sum says beside its numbers: the coordinator's word on what a round has come to that another one
/// follows.
struct Sum {
  std::vector<OpenedBy> opened;  ///< by key holder, in the proposal's order
  bool secure_noise = true;      ///< false: somebody's was seeded test noise; the release is NOT PRIVATE
};
nlohmann::json body_of(const Sum& sum);
/// @param most  f
Sum read_sum(const SignedHeader& header, std::size_t holders, std::size_t most);

/// The coordinator's question to the key holders who have opened its seal, which it answers: who is missing.
struct StandInRequest {
  std::vector<crypto::SitePublicKey> missing;  ///< in the proposal's order
};
nlohmann::json body_of(const StandInRequest& request);
/// @param most  f
StandInRequest read_stand_in_request(const SignedHeader& header, std::size_t most);

/// A key holder's shares of the keys between the sealed sites and those who are missing.
struct StandIn {
  struct Missing {
    crypto::SitePublicKey holder{};
    std::vector<crypto::KeyShare> shares;  ///< of the seal's sites, in its order
  };
  std::vector<Missing> missing;  ///< in the proposal's order; who has opened meanwhile is left out
};
nlohmann::json body_of(const StandIn& stand_in);
/// @param most  f. @param sealed  sites that the seal counts
StandIn read_stand_in(const SignedHeader& header, std::size_t most, std::size_t sealed);

}  // namespace muffle::release
