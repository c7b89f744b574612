#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::coordinator {

Collecting::Collecting(const Act& act)
    : sites(act.awaited()), asked(act.wanted_contribution(sites.front())) {}

Next Collecting::receive(Act& act, Received&& received) {
  const std::size_t site = sites[at];
  const crypto::SignerKey& key = act.round.proposal.sites[site];
  if (!asks_decline) {
    if (const auto message = act.contribution(site, std::move(received))) {
      contributions.push_back(message->header);
    } else {
      asks_decline = true;
      asked = wanted(release::decline_name(act.round.id, key.key));
      return {};
    }
  } else {
    bool has_declined = false;
    act.or_aside(asked.name, [&] {
      const auto message = message_of(std::move(received));
      if (!message) return;
      if (release::check_decline(act.round, message->header).site != site)
        throw ProtocolError("it is another site's decline.");
      has_declined = true;
    });
    (has_declined ? declined : missing).push_back(key.name);
  }
  asks_decline = false;
  if (++at == sites.size()) return decide(act);
  asked = act.wanted_contribution(sites[at]);
  return {};
}

Next Collecting::decide(Act& act) {
  const release::Proposal& p = act.round.proposal;
  const std::size_t count = contributions.size();
  const std::size_t least = act.earlier.empty() ? static_cast<std::size_t>(p.parties.least) : sites.size();
  if (!missing.empty() && act.job.clock.now() <= p.contribute_until) {
    act.report.waits.push_back(fmt::format("contributions of {}, until {} ({} of {} have answered)",
                                           fmt::join(missing, ", "), time_text(p.contribute_until),
                                           sites.size() - missing.size(), sites.size()));
    return {Through()};
  }
  if (count < least) {
    act.give_up(release::AbandonCode::kTooFew,
                fmt::format("{} contributions came, and {} are needed{}{}", count, least,
                            declined.empty() ? "" : fmt::format("; declined: {}", fmt::join(declined, ", ")),
                            missing.empty() ? "" : fmt::format("; silent: {}", fmt::join(missing, ", "))));
    return {Through()};
  }
  std::string bytes = make_seal(act.round, act.job.key, std::move(contributions));
  auto sealed = std::make_unique<Sealed>(
      act.round, release::SealedRound(act.round, release::parse_message(bytes, "the seal").header));
  act.out.push_back(act.seal.bind(std::move(bytes)));
  missing.insert(missing.end(), declined.begin(), declined.end());
  act.report.done.push_back(
      fmt::format("sealed {} of {} contributions{}", count, sites.size(),
                  missing.empty() ? "" : fmt::format(", without {}", fmt::join(missing, ", "))));
  return {Opening(std::move(sealed), act)};
}

}  // namespace muffle::round::coordinator
