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

}  // namespace muffle::round::contributor
