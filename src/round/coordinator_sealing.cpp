#include "coordinator_states.hpp"

namespace muffle::round::coordinator {

Next Sealing::receive(Act& act, Received&& received) {
  act.seal.look(std::move(received));
  if (const auto sent = act.seal.sent(act.out))
    return {Opening(std::make_unique<Sealed>(act.round, release::SealedRound(act.round, *sent)), act)};
  return {Collecting(act)};
}

}  // namespace muffle::round::coordinator
