#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round::holder {
namespace {

std::vector<Wanted> own_messages(const Act& act) {
  std::vector<Wanted> out{wanted(release::abandonment_name(act.round.id)), act.receipt.wants()};
  if (act.round.shares_keys()) out.push_back(act.stand_in.wants());
  out.push_back(act.opening.wants());
  return out;
}

/// Opens nothing: not even what it had bound itself to send, and has not sent yet.
Next obey(Act& act, release::AbandonCode code) {
  act.opening.give_up();
  act.erase_key();
  act.erase_shares();
  act.report.lost = true;
  act.report.done.push_back(fmt::format(
      "the coordinator has abandoned the round ({}): nothing is opened, and round key {} is erased",
      name_of(code), act.own.number));
  act.acknowledge_abandonment();
  return {Through()};
}

/// Its receipt says that the round is over for it, also where it is hidden now that it was abandoned.
bool is_over_by_receipt(Act& act) {
  if (!act.journal.state().pending(act.round.id, release::MessageKind::kReceipt) || act.opening.has_left() ||
      act.opening.is_kept())
    return false;
  act.report.lost = true;
  act.report.done.push_back(
      "this key holder has given a receipt for the round's end and has no opening: it opens nothing more");
  return true;
}

}  // namespace

Looking::Looking(const Act& act) : seen(own_messages(act)) {}

Next Looking::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  const Received& left = seen.at(release::abandonment_name(act.round.id));
  const auto code = abandoned(act.round, left);
  if (code) act.abandonment = message_of(left)->header;
  for (BoundMessage* const own : {&act.receipt, &act.stand_in, &act.opening}) {
    if (own != &act.stand_in || act.round.shares_keys()) own->look(std::move(seen.at(own->wants().name)));
  }
  if (code && !act.opening.has_left()) return obey(act, *code);
  if (!code && is_over_by_receipt(act)) return {Through()};
  if (const auto sent = act.opening.sent(act.out)) return {Opened(act, sent->answers)};
  if (!act.is_over()) return {Sealing(act)};
  act.opening.erase_unbound();
  act.erase_key();
  act.erase_shares();
  act.report.lost = !act.round.shares_keys();  // else others may stand in for it
  act.report.done.push_back(
      fmt::format("the round was to be opened until {}: this key holder opens nothing more",
                  time_text(act.round.proposal.open_until)));
  return {Through()};
}

}  // namespace muffle::round::holder
