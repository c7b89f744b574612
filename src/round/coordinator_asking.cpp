#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator_states.hpp"

namespace muffle::round::coordinator {

Next Asking::receive(Act& act, Received&& received) {
  act.request.look(std::move(received));
  std::optional<release::SignedHeader> sent = act.request.sent(act.out);
  if (!sent) {
    std::string bytes = make_stand_in_request(act.round, sealed->seal, act.job.key, missing);
    sent = release::parse_message(bytes, "the request for stand-ins").header;
    act.out.push_back(act.request.bind(std::move(bytes)));
    act.report.done.push_back(fmt::format("asked the key holders who have opened to stand in for {}",
                                          fmt::join(act.names_of(missing), ", ")));
  }
  release::AskedRound asked(act.round, sealed->seal, *sent);
  return {Hearing{std::move(sealed), std::move(missing), std::move(asked), act.wanted_stand_in(0)}};
}

}  // namespace muffle::round::coordinator
