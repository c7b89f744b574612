#include "awaiting_next.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {

std::vector<Wanted> AwaitingNext::wants() const {
  if (!listed_) return {wanted_names()};
  if (!proposals_.empty()) return {wanted(proposals_.back())};
  if (!next_.empty()) return {wanted(release::abandonment_name(next_.back().id))};
  return {};
}

void AwaitingNext::look(Received&& received) {
  if (!listed_) {
    listed_ = true;
    std::ranges::copy_if(received.names, std::back_inserter(proposals_), release::is_proposal_name);
    std::ranges::reverse(proposals_);
  } else if (!proposals_.empty()) {
    proposals_.pop_back();
    read_proposal(std::move(received));
  } else {
    there_ = !abandoned(next_.back(), received);
    next_.pop_back();
    if (there_) next_.clear();
  }
}

void AwaitingNext::read_proposal(Received&& received) {
  try {
    const std::string name = received.name;
    const std::optional<release::Message> message = message_of(std::move(received));
    if (!message) return;
    ProposedRound round(*message, name);
    if (name == release::proposal_name(round.id) && round.coordinator == round_->coordinator &&
        round.proposal.later && round.proposal.later->before == round_->id)
      next_.push_back(std::move(round));
  } catch (const ProtocolError&) {  // what is no proposal stops nobody: the status names it
  } catch (const ConfigError&) {    // nor parties or noise that the theorem does not cover
  }
}

void AwaitingNext::say(const StepClock& clock, StepReport& report) const {
  if (there_) return;
  const std::string until = time_text(round_->proposal.last_day() + kNextRoundWithin);
  if (clock.now() <= round_->proposal.last_day() + kNextRoundWithin) {
    report.waits.push_back(fmt::format("{}, until {}", what_, until));
    return;
  }
  report.lost = true;
  report.done.push_back(
      fmt::format("no next round was proposed until {}; what was charged stays charged", until));
}

}  // namespace muffle::round
