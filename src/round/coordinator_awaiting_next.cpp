#include <fmt/format.h>

#include "coordinator_states.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::coordinator {

Next AwaitingNext::receive(Act& act, Received&& received) {
  proposal.receive(std::move(received));
  if (!proposal.wants().empty()) return {};
  if (!proposal.is_there())
    act.report.waits.push_back(
        fmt::format("a person who proposes the next round: `muffle coordinator propose --after {}`",
                    release::short_id(act.round.id)));
  return {Through()};
}

}  // namespace muffle::round::coordinator
