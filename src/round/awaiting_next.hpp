#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "role_parts.hpp"

namespace muffle::round {

/// The last state of every role: the act has ended.
struct Through {
  static constexpr std::string_view kName = "through";
  std::vector<Wanted> wants() const { return {}; }
};

/// A state of every role: the round has its sum. Looks whether the coordinator has proposed the round that
/// goes on from it, and has not given that one up; if not, it is waited for, kNextRoundWithin at the most.
class AwaitingNext {
 public:
  static constexpr std::string_view kName = "awaiting the next round";
  /// @param what  is waited for. @param round  outlives this object
  explicit AwaitingNext(const ProposedRound& round,
                        std::string what = "the coordinator's proposal of the next round")
      : round_(&round), what_(std::move(what)) {}

  std::vector<Wanted> wants() const;
  template <class Act>
  std::optional<Through> receive(Act& act, Received&& received) {
    look(std::move(received));
    if (!wants().empty()) return std::nullopt;
    say(act.job.clock, act.report);
    return Through();
  }

 private:
  void look(Received&& received);
  void read_proposal(Received&& received);
  void say(const StepClock& clock, StepReport& report) const;

  const ProposedRound* round_;
  std::string what_;
  bool listed_ = false, there_ = false;
  std::vector<std::string> proposals_;  ///< names of those to read, the last first
  std::vector<ProposedRound> next_;     ///< that go on from this one, and may have been given up since
};

}  // namespace muffle::round
