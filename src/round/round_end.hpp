// How a round ends, as all of its parties see it: with its release or, before the last, with its sum, after
// which they wait for the next one's proposal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "role_parts.hpp"

namespace muffle::round {

/// What of a round's end is there, checked as it comes.
class RoundEnd {
 public:
  /// @param seal  id() of the round's
  RoundEnd(const ProposedRound& round, const Sha256Digest& seal);
  /// Empty: all is known.
  std::vector<Wanted> wants() const;
  /// @throws ProtocolError  it is not the round's, or not the coordinator's.
  void receive(Received&& received);

  /// The sum's header or, of the last round, the coordinator's statement, whose release is there; none: not
  /// yet.
  const std::optional<release::SignedHeader>& statement() const { return statement_; }
  /// Bytes of the release; of a round before the last empty.
  const std::string& release() const { return release_; }

 private:
  const ProposedRound* round_;
  Sha256Digest seal_;
  std::optional<Wanted> next_;
  std::optional<release::SignedHeader> stated_, statement_;
  std::string release_;
};

/// Whether the coordinator has proposed the round that goes on from this one, and has not given it up.
class NextProposal {
 public:
  explicit NextProposal(const ProposedRound& round) : round_(&round) {}
  /// Empty: it is known.
  std::vector<Wanted> wants() const;
  void receive(Received&& received);
  bool is_there() const { return there_; }

 private:
  void read_proposal(Received&& received);

  const ProposedRound* round_;
  bool listed_ = false, there_ = false;
  std::vector<std::string> proposals_;  ///< names of those to read, the last first
  std::vector<ProposedRound> next_;     ///< that go on from this one, and may have been given up since
};

/// Of a party that waits for the next round's proposal, for as long as kNextRoundWithin at the most.
void report_next(const ProposedRound& round, const NextProposal& next, const StepClock& clock,
                 StepReport& report);

}  // namespace muffle::round
