#include "holder_states.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

Sealing::Sealing(const Act& act) : sealed(wanted(release::seal_name(act.round.id))) {}

Next Sealing::receive(Act& act, Received&& received) {
  act.take_seal(std::move(received));
  if (!act.seal) {
    act.report.waits.push_back("the coordinator's seal; the round ends " +
                               time_text(act.round.proposal.open_until));
    return {Through()};
  }
  if (act.journal.state().seal_of(act.own.point)) return open(act);  // it was bound to this one
  if (act.round.proposal.later) return {AfterTheFirst(act)};
  return ask(act, all_sites(act.round));
}

}  // namespace muffle::round::holder
