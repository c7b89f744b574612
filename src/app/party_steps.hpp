// The steps of one party in all its rounds, and what they came to.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/job/site_ranks.hpp"
#include "muffle/round/step.hpp"
#include "muffle/site/policy.hpp"
#include "party_folder.hpp"

namespace muffle::app {

/// Of a party's ledger or journal, while another step of the same party may be at work.
inline constexpr std::chrono::milliseconds kLockDeadline{60'000};

/// What one party's steps in all its rounds came to.
struct Outcome {
  std::string text;
  /// Rounds in which it still waits, and the next of their deadlines; rounds without a release, or without
  /// this party.
  std::set<crypto::RoundId> waiting, gone;
  std::uint64_t next_deadline = std::numeric_limits<std::uint64_t>::max();
  bool lost = false;           ///< one of those was lost before its time was over
  std::optional<Error> error;  ///< the first

  void add(const release::ProposedRound& round, std::string_view role, const round::StepReport& report);
  /// One round's error does not keep the party from its other rounds.
  template <class Step>
  void attempt(const release::ProposedRound& round, std::string_view role, const Step& step) {
    try {
      add(round, role, step());
    } catch (const Error& e) {
      stop(round, role, e);
    }
  }

 private:
  void stop(const release::ProposedRound& round, std::string_view role, const Error& why);
};

/// A site, or a key holder, with its folder open. Root of its job alone has one.
class PartySteps {
 public:
  /// @param ranks  of its job, of which this one is root
  PartySteps(const PartyCommand& command, PartyConfig config, comm::HostComm& comm, job::SiteRanks& ranks);

  /// @param digits  of the round that it is to step in; empty: all of its rounds
  Outcome step(const std::string& digits);

 private:
  round::StepClock clock() const;
  round::ContributorJob contributor_job(const release::ProposedRound& round);
  round::StepReport contribute(const release::ProposedRound& round);
  round::StepReport open(const release::ProposedRound& round);
  round::SiteVerdict verdict(const release::ProposedRound& round);
  round::SiteVerdict same_sums(const release::ProposedRound& round);

  site::KeyStore store_;
  const PartyConfig config_;
  comm::HostComm& comm_;
  job::SiteRanks& ranks_;
  bool with_torch_;
  std::unique_ptr<round::Exchange> exchange_;
  round::Membership members_;
};

}  // namespace muffle::app
