#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

/// Once, when its receipt is on its way: later acts only say so.
Next Objecting::receive(Act& act, Received&&) {
  throw ProtocolError(fmt::format(
      "what the coordinator has published of round {} is not what its contributions and openings add up to: "
      "{} This key holder's receipt says so, for all to see. Use it for nothing, and ask the coordinator; "
      "`muffle verify --evidence` shows anybody.",
      release::short_id(act.round.id), why));
}

}  // namespace muffle::round::holder
