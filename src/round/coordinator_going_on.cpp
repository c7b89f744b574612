#include <fmt/format.h>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"

namespace muffle::round::coordinator {

std::vector<Wanted> GoingOn::wants() const { return wanted_of(earlier); }

Next GoingOn::receive(Act& act, Received&& received) {
  const std::optional<std::string>& bytes = bytes_of(received);
  if (!bytes) throw ProtocolError(fmt::format("'{}' is not among the messages.", received.name));
  earlier.read(*bytes);
  if (earlier.next()) return {};
  act.earlier = std::move(earlier).finish();
  return {Sealing(act)};
}

}  // namespace muffle::round::coordinator
