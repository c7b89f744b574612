#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/charged_document.hpp"
#include "muffle/release/sealed_round.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {

using release::ProposedRound;

// What a party of a round between institutions does next, by its own books and by the messages that it finds:
// one step at a time, days apart, with no network of its own. A step can be killed anywhere, and done again
// as often as one likes. It says nothing twice in different words: what a party sends is bound to its ledger
// or journal first.

/// What a step did, and what is to be said of it. Public.
struct StepReport {
  std::vector<std::string> done;   ///< this time
  std::vector<std::string> waits;  ///< for whom or what; empty: the party has no more to do in the round
  std::vector<std::string> aside;  ///< "NAME: why", of files that count for nothing
  bool lost = false;               ///< the round makes no release any more, or not with this party
};

/// Where a party keeps what it sends: outbox/ holds messages that are bound, which alone may be sent, by
/// whomever; keys/drafts/, for their owner alone, those that are not bound yet. A crash may leave one of them
/// there, and the next step draws its noise anew: whoever could read both would know less noise.
std::filesystem::path outbox(const std::filesystem::path& party);
std::filesystem::path drafts(const std::filesystem::path& party);

/// How long after a round's last day its parties still wait for the proposal of the next one: 30 days.
inline constexpr std::uint64_t kNextRoundWithin = 30 * std::uint64_t{86'400};

/// By what a party tells the time, and how it waits.
struct StepClock {
  /// Seconds since 1970. Asked whenever it matters: a step can take hours.
  std::function<std::uint64_t()> now;
  std::chrono::milliseconds lock_deadline{60'000};  ///< of its ledger or journal
  Heartbeat heartbeat{};
};

/// A source of noise for one act. Empty: the operating system's.
using MakeEntropy = std::function<std::unique_ptr<privacy::EntropySource>()>;

/// What a site's own policy, and its people, say of a round.
struct SiteVerdict {
  enum class Answer { kYes, kWait, kNo };
  Answer answer = Answer::kNo;
  std::string why;  ///< public, for people: what it waits for, or the code of its decline
};

/// A site's own records, summed by the proposal's plan. Private but for their number under replace-one.
struct OwnSums {
  embed::PartialSum sums;
  std::uint64_t records = 0;  ///< m_i under replace-one, counted before anything is dropped; else 0
};

struct ContributorJob {
  const crypto::SiteKey& key;
  std::filesystem::path folder;  ///< the site's own
  release::ChargeBook book;      ///< its ledger
  StepClock clock;
  std::function<SiteVerdict()> verdict;  ///< as of now: asked before records are summed, and after
  /// Sums the site's records for this round of the proposal's plan. Called once its policy and its ledger
  /// have said yes, before anything is charged.
  std::function<OwnSums(const ProposedRound&)> sum_records;
  MakeEntropy entropy{};
};
/// A site's one act in a round: reads its policy, sums its records, charges its own ledger, draws its share
/// of the noise and contributes. Later, notes the release in its ledger. @param exchange  see StepReport
/// @throws PrivacyError  its budget refuses: nothing was read. @throws ProtocolError  exit 76: there is a
/// contribution of its own that its ledger does not know; or what the coordinator has made counts another
/// one.
/// @throws DataError, ConfigError, IoError, CommError.
StepReport contributor_step(const ProposedRound& round, Exchange& exchange, const ContributorJob& job);

/// Whether what there is of this site's contribution to the round, in the exchange, in its outbox or counted
/// by a seal, is what its ledger is bound to. If not, the ledger is an older copy: a site contributes nowhere
/// on top of one, or it would spend what is spent already. Public. @throws IoError, ProtocolError  the ledger
/// cannot be read.
bool ledger_knows(const ProposedRound& round, Exchange& exchange, const ContributorJob& job);

struct HolderJob {
  const crypto::SiteKey& key;
  std::filesystem::path folder;
  StepClock clock;
  std::function<bool(std::uint64_t number)> has_round_key;
  std::function<crypto::ExchangeKey(std::uint64_t number)> round_key;
  std::function<void(std::uint64_t number)> erase_round_key;
  /// Where this round's shares of other holders' keys are kept until its end, if any may be missing: a file
  /// of its own, in a folder of secrets.
  std::filesystem::path shares;
  MakeEntropy entropy{};
};
/// A key holder's act in a round: checks the seal, writes down that this one it opens, opens it, writes down
/// what it sends, sends that, and erases its round key. If others are missing, and the coordinator asks, it
/// stands in for them, once. Later, a receipt for the release, or for the round's abandonment.
/// @throws ProtocolError  exit 76: a second, different seal for one round key; an opening of its own that its
/// journal does not know; a seal that is none. @throws ConfigError, IoError, CommError.
StepReport holder_step(const ProposedRound& round, Exchange& exchange, const HolderJob& job);

struct CoordinatorJob {
  const crypto::SiteKey& key;
  std::filesystem::path folder;
  StepClock clock;
  std::string muffle_version;
};
/// The coordinator's acts in a round: puts aside what does not count, seals what does once all have answered,
/// or at the deadline, asks others to stand in for key holders who may be missing, and are late, sums what
/// was opened, and releases. What makes no release any more is said.
/// @throws ProtocolError  exit 76: the exchange has another seal or release of its own than its journal; the
/// sum is beyond what records and noise can make, or has too few numbers to tell whether an objection is
/// right; stand-ins gave other keys than sites have committed to. @throws ConfigError, IoError, CommError.
StepReport coordinator_step(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job);

/// Gives a round up, for all to see: nothing more is sealed or released in it. Bound to the coordinator's
/// journal; a step that finds too few contributions does it by itself. What was charged stays charged.
/// @throws ConfigError  it is released. @throws as coordinator_step().
StepReport abandon_round(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job,
                         release::AbandonCode code);

}  // namespace muffle::round
