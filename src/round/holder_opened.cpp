#include "holder_states.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

Opened::Opened(const Act& act, const Sha256Digest& seal_of_opening)
    : sealed(wanted(release::seal_name(act.round.id))), answers(seal_of_opening) {}

Next Opened::receive(Act& act, Received&& received) {
  act.take_seal(std::move(received));
  act.erase_key();
  return {Ending{RoundEnd(act.round, answers)}};
}

}  // namespace muffle::round::holder
