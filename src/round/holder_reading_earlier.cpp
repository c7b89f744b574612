#include "holder_states.hpp"
#include "muffle/core/error.hpp"

namespace muffle::round::holder {

Next ReadingEarlier::receive(Act& act, Received&& received) {
  try {
    const std::optional<std::string>& bytes = bytes_of(received);
    if (!bytes) return wait_for_the_rest(act, published.statement);
    earlier.read(*bytes);
    if (earlier.next()) return {};
    return add_up(act, std::move(published), std::move(earlier).finish());
  } catch (const ProtocolError& e) {
    act.report.aside.push_back(received.name + ": " + e.what());
    return wait_for_the_rest(act, published.statement);
  }
}

}  // namespace muffle::round::holder
