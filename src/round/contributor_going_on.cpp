#include <fmt/format.h>

#include "contributor_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::round::contributor {

GoingOn::GoingOn(const Act& act, Ready&& own) : ready(std::move(own)), earlier(act.round) {}

std::vector<Wanted> GoingOn::wants() const { return wanted_of(earlier); }

Next GoingOn::receive(Act& act, Received&& received) {
  const std::optional<std::string>& bytes = bytes_of(received);
  if (!bytes) {
    act.report.waits.push_back(fmt::format("'{}', which this round goes on from", received.name));
    return {Through()};
  }
  earlier.read(*bytes);
  if (earlier.next()) return {};
  const std::vector<release::EndedRound> rounds = std::move(earlier).finish();
  const ProposedRound& round = act.round;
  const release::SignedHeader* const first =
      rounds.front().seal.contribution_of(round.site(act.job.key.public_key()).value());
  if (first == nullptr) {
    act.report.lost = true;
    act.report.done.push_back(
        "the release's first round was sealed without this site: it has no part in this one");
    return {Through()};
  }
  const release::Contribution counted =
      release::read_contribution(*first, round.proposal.holders.size(), round.shares_keys());
  const privacy::LedgerState ledger =
      privacy::Ledger::preview(act.job.book.ledger, act.job.book.data_id, act.job.book.budget);
  const privacy::ChargeRecord* const charge = ledger.find_charge(counted.charge);
  if (charge == nullptr || charge->terms.run != release::charged_as(round.first()))
    throw ProtocolError(
        "the release's first seal counts a contribution of this site that its ledger was not charged "
        "for: the ledger was restored from an older copy, or somebody else acts with the site's key. "
        "Nothing was drawn.");
  if (!charge->between_rounds() || charge->rounds_kept + 1 != round.proposal.number()) {
    act.report.lost = true;
    act.report.done.push_back(
        "this site did not finish an earlier round of this release: it has no part in this one");
    return {Through()};
  }
  act.first_records = counted.records;
  return go_on(act, std::move(ready));
}

}  // namespace muffle::round::contributor
