#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

Published::Published(const ProposedRound& round, RoundEnd&& end)
    : statement(end.statement().value()), muffle_version(end.muffle_version()), problem(end.problem()) {
  if (!problem.empty()) return;
  if (!round.last()) {
    opened = release::sum_in(round, statement).opened;
    return;
  }
  stated = end.take_artifact();
  if (stated->round->holders.size() != round.proposal.holders.size()) {
    problem = "it names other key holders than the proposal.";
    return;
  }
  opened = release::opened_in(*stated->round);
  numbers = hash_of(stated->values);
  stated->values = {};
}

Sha256Digest Published::hash_of(const std::vector<std::int64_t>& values) {
  return sha256(PublicBytes(std::as_bytes(std::span(values))));
}

bool made_by_another_muffle(const Act& act, const Published& published) {
  return !published.muffle_version.empty() && published.muffle_version != act.job.muffle_version;
}

Next object(Act& act, const release::SignedHeader& statement, std::string why) {
  act.give_receipt(statement, release::Found::kOther);
  return {Objecting(act, std::move(why))};
}

namespace {

/// Once: its receipt is there, for all to see.
Next after_receipt(Act& act, const Published& published, const release::SignedHeader& receipt) {
  const bool objects =
      receipt.answers == published.statement.id() &&
      release::check_receipt(act.round, published.statement, receipt).found == release::Found::kOther;
  if (!objects) return go_on(act);
  act.report.lost = true;
  act.report.done.push_back(
      "what the coordinator has published of this round is not what its messages add up to: this key "
      "holder's receipt says so, for all to see. Use it for nothing, and ask the coordinator");
  return {Through()};
}

}  // namespace

Next verify(Act& act, Published&& published) {
  if (const auto receipt = act.receipt.sent(act.out)) return after_receipt(act, published, *receipt);
  if (!published.problem.empty()) {
    if (made_by_another_muffle(act, published)) return cannot_compare(act, published);
    return object(act, published.statement, published.problem);
  }
  if (!act.seal) return wait_for_the_rest(act, published.statement);
  if (act.round.last() && act.round.proposal.later)
    return {ReadingEarlier{std::move(published), release::EarlierRounds(act.round)}};
  return add_up(act, std::move(published), {});
}

Next add_up(Act& act, Published&& published, std::vector<release::EndedRound>&& earlier) {
  Verifying state(act, std::move(published), std::move(earlier));
  act.journal.let_go();  // it takes long, and other rounds of this key holder go on meanwhile
  return {std::move(state)};
}

}  // namespace muffle::round::holder
