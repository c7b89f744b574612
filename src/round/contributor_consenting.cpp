#include <fmt/format.h>

#include <algorithm>

#include "contributor_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::contributor {

Consenting::Consenting(const Act& act, Ready&& own)
    : ready(std::move(own)),
      seen({wanted(release::decline_name(act.round.id, act.job.key.public_key())),
            wanted(release::abandonment_name(act.round.id)), wanted(release::seal_name(act.round.id))}) {}

Next Consenting::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  const crypto::SitePublicKey own = act.job.key.public_key();
  const auto decline = message_of(std::move(seen.at(release::decline_name(act.round.id, own))));
  if (decline && decline->header.sender == own) {
    act.report.done.push_back("this site has declined");
    return {Through()};
  }
  if (act.is_abandoned(seen.at(release::abandonment_name(act.round.id)))) return {Through()};
  if (const auto sealed = message_of(std::move(seen.at(release::seal_name(act.round.id))))) {
    const release::SealedRound seal(act.round, sealed->header);  // or somebody else has put it there
    if (std::ranges::count(seal.seal.contributions, own, &release::SignedHeader::sender) > 0)
      throw ProtocolError(
          "the seal counts a contribution of this site that its ledger does not know: the ledger was "
          "restored from an older copy, or somebody else acts with the site's key. Nothing was charged or "
          "drawn.");
    act.report.lost = true;
    act.report.done.push_back("the round was sealed without this site");
    return {Through()};
  }
  if (act.job.clock.now() > act.round.proposal.contribute_until) {
    act.report.lost = true;
    act.report.done.push_back(fmt::format("contributions were wanted until {}: this site did not contribute",
                                          time_text(act.round.proposal.contribute_until)));
    return {Through()};
  }
  if (act.round.proposal.later) return {GoingOn(act, std::move(ready))};
  return go_on(act, std::move(ready));
}

}  // namespace muffle::round::contributor
