#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::coordinator {
namespace {

Wanted wanted_opening(const Act& act, std::size_t holder) {
  const crypto::SitePublicKey& key = act.round.proposal.holders[holder].holder.key;
  return wanted(release::opening_name(act.round.id, key), act.round.length);
}

}  // namespace

Opening::Opening(std::unique_ptr<Sealed>&& round_sealed, const Act& act)
    : sealed(std::move(round_sealed)), asked(wanted_opening(act, 0)) {}

Next Opening::receive(Act& act, Received&& received) {
  const release::Proposal& p = act.round.proposal;
  const bool taken = act.hear(at, asked.name, std::move(received), "it is another key holder's opening.",
                              [&](const release::Message& message) { sealed->sum.take_opening(message); });
  if (!taken) missing.push_back(at);
  if (++at < p.holders.size()) {
    asked = wanted_opening(act, at);
    return {};
  }
  if (missing.empty()) return add_up(act, std::move(sealed), true);
  if (act.job.clock.now() > p.open_until &&
      missing.size() <= static_cast<std::size_t>(p.parties.missing_holders))
    return {Asking{std::move(sealed), std::move(missing), act.request.wants()}};
  act.await(fmt::format("openings of {}", fmt::join(act.names_of(missing), ", ")), p.open_until);
  return add_up(act, std::move(sealed), false);
}

}  // namespace muffle::round::coordinator
