#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muffle/core/heartbeat.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/charged_document.hpp"
#include "muffle/release/sealed_round.hpp"
#include "muffle/round/role.hpp"

namespace muffle::round {

using release::ProposedRound;

// The roles of a round between institutions: a site, a key holder, the coordinator. Each is made for one act,
// from the proposal and its party's own books, which alone remember: an act can be cut off anywhere, and made
// again as often as one likes. A role says nothing twice in different words: what its party sends is bound to
// its ledger or journal first. It carries nothing itself (round/role.hpp).

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
  std::string why;                  ///< public, for people: what it waits for, or the code of its decline
  std::optional<Letter> decline{};  ///< to send, if the answer is no; kept by the site before
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

/// A site: reads its policy, sums its records, charges its own ledger, draws its share of the noise and
/// contributes. Later, notes the release in its ledger. @param round, job  outlive it
/// @throws as contributor_step() (round/step.hpp), as do its messages.
std::unique_ptr<Role> make_contributor(const ProposedRound& round, const ContributorJob& job);

struct HolderJob {
  const crypto::SiteKey& key;
  std::filesystem::path folder;
  StepClock clock;
  std::function<bool(std::uint64_t number)> has_round_key;
  std::function<crypto::ExchangeKey(std::uint64_t number)> round_key;
  /// By its point, wherever it lies: under the number there may be another one, in a folder that was mixed
  /// up.
  std::function<void(const release::HolderKey& key)> erase_round_key;
  /// Where this round's shares of other holders' keys are kept until its end, if any may be missing: a file
  /// of its own, in a folder of secrets.
  std::filesystem::path shares;
  MakeEntropy entropy{};
  std::string muffle_version{};
};

/// A key holder: checks the seal, writes down that this one it opens, opens it, writes down what it sends,
/// and erases its round key. If others are missing, and the coordinator asks, it stands in for them, once.
/// Later, a receipt for the release, or for the round's abandonment. What must not be kept beyond its day
/// goes when the role is made, whatever anybody sends. @param round, job  outlive it
/// @throws as holder_step(), as do its messages.
std::unique_ptr<Role> make_holder(const ProposedRound& round, const HolderJob& job);

struct CoordinatorJob {
  const crypto::SiteKey& key;
  std::filesystem::path folder;
  StepClock clock;
  std::string muffle_version;
};

/// The coordinator: puts aside what does not count, seals what does once all have answered, or at the
/// deadline, asks others to stand in for key holders who may be missing, and are late, sums what was opened,
/// and releases. Contributions and openings it wants one at a time. @param gives_up  why a person gives the
/// round up, whatever has come: then it says that, and nothing else. @param round, job  outlive it
/// @throws as coordinator_step() or abandon_round(), as do its messages.
std::unique_ptr<Role> make_coordinator(const ProposedRound& round, const CoordinatorJob& job,
                                       const std::optional<release::AbandonCode>& gives_up = {});

}  // namespace muffle::round
