#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

StandingIn::StandingIn(const Act& act) : asked(wanted(release::stand_in_request_name(act.round.id))) {}

std::vector<Wanted> StandingIn::wants() const { return {asked}; }

Next StandingIn::receive(Act& act, Received&& received) {
  if (request) {
    const std::size_t holder = request->missing[looked_at++];
    if (has_opened(act, holder, std::move(received))) opened.push_back(holder);
  } else {
    const auto message = message_of(std::move(received));
    if (!message) return wait(act);
    request.emplace(act.round, *act.seal, message->header);
    if (act.job.clock.now() <= act.round.proposal.open_until) {
      act.report.waits.push_back(
          fmt::format("the end of {}: until then those for whom the coordinator asks may still open",
                      time_text(act.round.proposal.open_until)));
      return wait(act);
    }
  }
  if (looked_at == request->missing.size()) return answer(act);
  const crypto::SitePublicKey& key = act.round.proposal.holders[request->missing[looked_at]].holder.key;
  asked = wanted(release::opening_name(act.round.id, key), act.round.length);
  return {};
}

bool StandingIn::has_opened(Act& act, std::size_t holder, Received&& received) {
  const std::string name = received.name;
  try {
    const auto there = message_of(std::move(received));
    if (!there) return false;
    release::require_of_round(act.round, there->header, release::MessageKind::kOpening, act.seal->id);
    return there->header.sender == act.round.proposal.holders[holder].holder.key;
  } catch (const ProtocolError& e) {
    act.report.aside.push_back(name + ": " + e.what());
    return false;
  }
}

/// Once, and what is said is bound first. Its shares of one answer say nothing alone; two answers could name
/// more key holders than may be missing.
Next StandingIn::answer(Act& act) const {
  if (!is_there(act.job.shares, "the shares of the round's keys", "Nobody was stood in for.")) {
    act.report.done.push_back(
        "the coordinator asks for stand-ins, and this key holder's shares are gone: left out of the copy "
        "that its folder was restored from, as they must be. It stands in for nobody");
    return wait(act);
  }
  const auto& holders = act.round.proposal.holders;
  const crypto::HeldShares shares =
      crypto::HeldShares::load(act.job.shares, act.seal->id, act.seal->sites.size(), holders.size());
  const std::optional<std::string> bytes =
      make_stand_in(act.round, *act.seal, *request, act.job.key, shares, opened);
  if (!bytes) {
    act.report.done.push_back(
        "the coordinator asks for stand-ins for key holders who have all opened: none is given");
    return wait(act);
  }
  act.out.push_back(act.stand_in.bind(*bytes));
  std::vector<std::string> names;
  for (const std::size_t h : request->missing) {
    if (std::ranges::count(opened, h) == 0) names.push_back(holders[h].holder.name);
  }
  act.report.done.push_back(fmt::format("stood in for {}", fmt::join(names, ", ")));
  return wait(act);
}

}  // namespace muffle::round::holder
