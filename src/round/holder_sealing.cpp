#include <fmt/format.h>

#include <algorithm>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {
namespace {

std::vector<Wanted> before_opening(const Act& act) {
  std::vector<Wanted> out{wanted(release::seal_name(act.round.id))};
  if (act.round.shares_keys()) out.push_back(wanted(release::stand_in_request_name(act.round.id)));
  return out;
}

/// Whether the coordinator has asked others for this key holder's part of this seal.
bool is_said_to_be_missing(Act& act, Received&& request) {
  const std::string name = request.name;
  try {
    const auto message = message_of(std::move(request));
    if (!message) return false;
    const release::AskedRound asked(act.round, *act.seal, message->header);
    return std::ranges::binary_search(asked.missing, act.round.holder(act.job.key.public_key()).value());
  } catch (const ProtocolError& e) {
    act.report.aside.push_back(name + ": " + e.what());
    return false;
  }
}

/// What others make of their shares takes the place of its opening: one of the two is enough.
Next leave_it_to_others(Act& act) {
  act.opening.erase_unbound();
  act.erase_key();
  act.erase_shares();
  act.report.done.push_back(fmt::format(
      "the coordinator has asked others to stand in for this key holder: it opens nothing more in "
      "this round, and round key {} is erased",
      act.own.number));
  return {Through()};
}

}  // namespace

Sealing::Sealing(const Act& act) : seen(before_opening(act)) {}

Next Sealing::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  act.take_seal(std::move(seen.at(release::seal_name(act.round.id))));
  if (!act.seal) {
    act.report.waits.push_back("the coordinator's seal; the round ends " +
                               time_text(act.round.proposal.open_until));
    return {Through()};
  }
  if (act.round.shares_keys() &&
      is_said_to_be_missing(act, std::move(seen.at(release::stand_in_request_name(act.round.id)))))
    return leave_it_to_others(act);
  if (act.journal.state().seal_of(act.own.point)) return open(act);  // it was bound to this one
  if (act.round.proposal.later) return {AfterTheFirst(act)};
  return ask(act, all_sites(act.round));
}

}  // namespace muffle::round::holder
