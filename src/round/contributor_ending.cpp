#include <fmt/format.h>

#include "contributor_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::contributor {

Sent::Sent(const Act& act, std::unique_ptr<ContributionBook>&& made)
    : book(std::move(made)),
      seen({wanted(release::abandonment_name(act.round.id)), wanted(release::seal_name(act.round.id))}) {}

Next Sent::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  Received& abandonment = seen.at(release::abandonment_name(act.round.id));
  const auto sealed = message_of(std::move(seen.at(release::seal_name(act.round.id))));
  if (!sealed) {
    if (!act.is_abandoned(abandonment)) act.wait_for("the coordinator's seal");
    return {Through()};
  }
  const release::SealedRound seal(act.round, sealed->header);
  const release::SignedHeader own = release::parse_message(book->bytes(), act.name).header;
  bool counts = false;
  for (const release::SignedHeader& header : seal.seal.contributions) {
    if (header.sender != own.sender) continue;
    if (header.id() != own.id())
      throw ProtocolError(
          "the seal counts a contribution with this site's signature that this site has not made for its "
          "charge: somebody else acts with its key, or its folder was restored from an older copy. Tell "
          "the key holders at once.");
    counts = true;
  }
  if (!counts) {
    act.report.lost = true;
    act.report.done.push_back("the coordinator sealed the round without this site; its charge stays spent");
  }
  return {Ending{std::move(book), RoundEnd(act.round, seal.id), std::move(abandonment), counts}};
}

Next Ending::receive(Act& act, Received&& received) {
  end.receive(std::move(received));
  return end.wants().empty() ? ended(act) : Next();
}

Next Ending::ended(Act& act) {
  const ProposedRound& round = act.round;
  if (!end.statement()) {
    if (!act.is_abandoned(abandonment))
      act.wait_for(round.last() ? "the key holders' openings and the release"
                                : "the key holders' openings and the sum");
    return {Through()};
  }
  if (round.last()) {
    book->note_release(end.release());
    act.report.done.push_back("the round is released");
    return {Through()};
  }
  act.report.done.push_back(
      fmt::format("round {} of {} has its sum", round.proposal.number(), round.proposal.plan.rounds()));
  if (counts) return {AwaitingNext{NextProposal(round)}};
  return {Through()};
}

Next AwaitingNext::receive(Act& act, Received&& received) {
  proposal.receive(std::move(received));
  if (!proposal.wants().empty()) return {};
  report_next(act.round, proposal, act.job.clock, act.report);
  return {Through()};
}

}  // namespace muffle::round::contributor
