#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/crypto/pair_keys.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::job {

/// What the parties of a job are to do in one round: the same at all of them, and what its coordinator
/// proposes. Public. Between institutions it is release::Proposal, which names everybody's keys as well.
struct Proposal {
  release::ReleasePlan plan;             ///< of the whole release; what this round counts is chosen
  privacy::AggregationMode aggregation;  ///< of so many parties, in one job
  std::uint64_t number = 1;              ///< which of plan.rounds() it is for, from 1
  std::string data_id{};                 ///< what the coordinator's ledger calls the records
};

/// Its JSON, in its one spelling: keys in order, no blanks. SHA-256 of it names the round.
std::string proposal_text(const Proposal& proposal);

/// A proposal that a party takes part in, and what follows from it. Public.
struct ProposedRound {
  crypto::RoundId id{};  ///< SHA-256 of proposal_text(): the keys of the round's masks are bound to it
  Proposal proposal;
  release::ReleasePlan summed;  ///< what this round sums: the plan, or its part of this round
  std::optional<privacy::DistributedNoisePlan> shares{};  ///< of distributed noise: every party's
  std::size_t length = 0;                                 ///< L: numbers in what is summed

  /// @throws ConfigError  as shares_of().
  explicit ProposedRound(Proposal own);
  /// At a party: what the coordinator says, if it is what this party proposes itself, by its own
  /// configuration. The data id alone is the coordinator's: the ledger is.
  /// @param said  the coordinator's proposal_text()
  /// @throws ProtocolError  it is another proposal, or none: names what differs, all of it public.
  ProposedRound(Proposal own, std::string_view said);
};

/// Every party's share of the noise; none where the coordinator draws the whole.
/// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
std::optional<privacy::DistributedNoisePlan> shares_of(const privacy::NoisePlan& noise,
                                                       const privacy::AggregationMode& mode);

}  // namespace muffle::job
