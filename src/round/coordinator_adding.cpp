#include <fmt/format.h>

#include <algorithm>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"

namespace muffle::round::coordinator {

Next add_up(const Act& act, std::unique_ptr<Sealed>&& sealed, bool whole) {
  std::vector<std::size_t> sites;
  for (std::size_t i = act.round.proposal.sites.size(); i-- > 0;) {
    if (whole || !std::ranges::binary_search(sealed->seal.sites, i)) sites.push_back(i);
  }
  if (sites.empty()) return {Through()};
  Wanted first = act.wanted_contribution(sites.back());
  return {Adding{std::move(sealed), whole, std::move(sites), std::move(first)}};
}

Next Adding::receive(Act& act, Received&& received) {
  look(act, std::move(received));
  sites.pop_back();
  if (sites.empty()) return whole ? publish(act, std::move(*sealed)) : Next{Through()};
  asked = act.wanted_contribution(sites.back());
  return {};
}

void Adding::look(Act& act, Received&& received) {
  const std::size_t site = sites.back();
  const std::optional<release::Message> message = act.contribution(site, std::move(received));
  if (!std::ranges::binary_search(sealed->seal.sites, site)) {
    if (message) act.report.aside.push_back(asked.name + ": it came after the seal");
    return;
  }
  if (!message)
    throw ProtocolError(
        fmt::format("'{}' was sealed, and is not there any more, or was damaged: ask {} to put it again.",
                    asked.name, act.round.proposal.sites[site].name));
  sealed->sum.add_contribution(*message);
}

}  // namespace muffle::round::coordinator
