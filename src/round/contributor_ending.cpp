#include <fmt/format.h>

#include "contributor_states.hpp"

namespace muffle::round::contributor {

Next Ending::receive(Act& act, Received&& received) {
  end.receive(std::move(received));
  return end.wants().empty() ? ended(act) : Next();
}

Next Ending::ended(Act& act) {
  const ProposedRound& round = act.round;
  if (!end.aside().empty()) act.report.aside.push_back(end.aside());
  if (!end.statement()) {
    if (!act.is_abandoned(abandonment))
      act.wait_for(round.last() ? "the key holders' openings and the release"
                                : "the key holders' openings and the sum");
    return {Through()};
  }
  if (!end.problem().empty()) {
    act.report.lost = true;
    act.report.done.push_back(fmt::format(
        "what the coordinator has signed as the round's end{} is none that this muffle can use: {} The "
        "charge stays spent; ask the coordinator",
        end.muffle_version().empty() ? "" : fmt::format(" (made by muffle {})", end.muffle_version()),
        end.problem()));
    return {Through()};
  }
  if (round.last()) {
    book->note_release(end.release());
    act.report.done.push_back("the round is released");
    return {Through()};
  }
  act.report.done.push_back(
      fmt::format("round {} of {} has its sum", round.proposal.number(), round.proposal.plan.rounds()));
  if (counts) return {AwaitingNext(round)};
  return {Through()};
}

}  // namespace muffle::round::contributor
