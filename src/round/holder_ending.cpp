#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round::holder {

Next Ending::receive(Act& act, Received&& received) {
  end.receive(std::move(received));
  if (!end.wants().empty()) return {};
  if (!end.aside().empty()) act.report.aside.push_back(end.aside());
  if (!end.statement()) return await_release(act);
  act.erase_shares();
  return verify(act, Published(act.round, std::move(end)));
}

Next await_release(Act& act) {
  if (act.abandonment) {
    act.erase_shares();
    act.acknowledge_abandonment();  // bound: nobody is stood in for any more, also if it is hidden later
    act.report.lost = true;
    act.report.done.push_back(fmt::format("the coordinator has abandoned the round ({}), after this opening",
                                          name_of(release::check_abandonment(act.round, *act.abandonment))));
    return {Through()};
  }
  // With its receipt the round is over for this key holder, whatever is shown to it now.
  if (act.seal && act.round.shares_keys() &&
      !act.journal.state().pending(act.round.id, release::MessageKind::kReceipt) &&
      !act.stand_in.sent(act.out)) {
    if (act.job.clock.now() <= act.round.proposal.stand_in_until) return {StandingIn(act)};
    act.erase_shares();
  }
  return wait(act);
}

Next wait(Act& act) {
  const std::string until = time_text(act.round.proposal.last_day());
  act.report.lost = act.job.clock.now() > act.round.proposal.last_day();
  if (act.report.lost) {
    act.report.done.push_back(fmt::format("the round ended {}, and made no release", until));
  } else {
    act.report.waits.push_back("the release; the round ends " + until);
  }
  return {Through()};
}

}  // namespace muffle::round::holder
