#include "contributor_states.hpp"

namespace muffle::round::contributor {

Next AwaitingNext::receive(Act& act, Received&& received) {
  proposal.receive(std::move(received));
  if (!proposal.wants().empty()) return {};
  report_next(act.round, proposal, act.job.clock, act.report);
  return {Through()};
}

}  // namespace muffle::round::contributor
