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

Wanted wanted_stand_in(const Act& act, std::size_t holder) {
  return wanted(release::stand_in_name(act.round.id, act.round.proposal.holders[holder].holder.key));
}

std::vector<std::string> names_of(const Act& act, const std::vector<std::size_t>& holders) {
  std::vector<std::string> out;
  for (const std::size_t h : holders) out.push_back(act.round.proposal.holders[h].holder.name);
  return out;
}

/// Whether there is a message of this key holder's, and `take` takes it. @param otherwise  why one of
/// somebody else is put aside
template <class Take>
bool hear(Act& act, std::size_t holder, const std::string& name, Received&& received, const char* otherwise,
          const Take& take) {
  bool taken = false;
  act.or_aside(name, [&] {
    const auto message = message_of(std::move(received));
    if (!message) return;
    if (message->header.sender != act.round.proposal.holders[holder].holder.key)
      throw ProtocolError(otherwise);
    take(*message);
    taken = true;
  });
  return taken;
}

}  // namespace

Opening::Opening(std::unique_ptr<Sealed>&& round_sealed, const Act& act)
    : sealed(std::move(round_sealed)), asked(wanted_opening(act, 0)) {}

Next Opening::receive(Act& act, Received&& received) {
  const release::Proposal& p = act.round.proposal;
  const bool taken = hear(act, at, asked.name, std::move(received), "it is another key holder's opening.",
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
  act.await(fmt::format("openings of {}", fmt::join(names_of(act, missing), ", ")), p.open_until);
  return add_up(act, std::move(sealed), false);
}

Next Asking::receive(Act& act, Received&& received) {
  act.request.look(std::move(received));
  std::optional<release::SignedHeader> sent = act.request.sent(act.out);
  if (!sent) {
    std::string bytes = make_stand_in_request(act.round, sealed->seal, act.job.key, missing);
    sent = release::parse_message(bytes, "the request for stand-ins").header;
    act.out.push_back(act.request.bind(std::move(bytes)));
    act.report.done.push_back(fmt::format("asked the key holders who have opened to stand in for {}",
                                          fmt::join(names_of(act, missing), ", ")));
  }
  release::AskedRound asked(act.round, sealed->seal, *sent);
  return {Hearing{std::move(sealed), std::move(missing), std::move(asked), wanted_stand_in(act, 0)}};
}

/// Whether others stand in for all who are missing.
Next Hearing::receive(Act& act, Received&& received) {
  const release::Proposal& p = act.round.proposal;
  const bool taken =
      hear(act, at, asked.name, std::move(received), "it is another key holder's.",
           [&](const release::Message& message) { sealed->sum.take_stand_in(request, message.header); });
  if (!taken && std::ranges::count(missing, at) == 0) silent.push_back(p.holders[at].holder.name);
  if (++at < p.holders.size()) {
    asked = wanted_stand_in(act, at);
    return {};
  }
  const std::vector<std::string> names = names_of(act, missing);
  const std::vector<release::OpenedBy> opened = sealed->sum.opened();
  const bool all = std::ranges::all_of(missing, [&](std::size_t h) { return !opened[h].stand_ins.empty(); });
  for (const std::size_t h : sealed->sum.wrong_stand_ins())
    act.report.aside.push_back(
        fmt::format("{}: it has shares that do not make the keys which sites have committed to. Others were "
                    "enough; find out why",
                    release::stand_in_name(act.round.id, p.holders[h].holder.key)));
  if (all) {
    act.report.done.push_back(fmt::format("others stood in for {}", fmt::join(names, ", ")));
  } else {
    act.await(fmt::format("stand-ins for {} of {}", fmt::join(names, ", "), fmt::join(silent, ", ")),
              p.stand_in_until);
  }
  return add_up(act, std::move(sealed), all);
}

}  // namespace muffle::round::coordinator
