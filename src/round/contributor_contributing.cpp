#include <fmt/format.h>

#include "contributor_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/privacy/ledger.hpp"
#include "refused_records.hpp"

namespace muffle::round::contributor {
namespace {

void require_budget(const Act& act) {
  if (act.round.proposal.later) return;  // its first round was charged for all
  const privacy::ChargeTerms terms = release::contribution_terms(act.round, true);
  const privacy::LedgerState state =
      privacy::Ledger::preview(act.job.book.ledger, act.job.book.data_id, act.job.book.budget);
  privacy::require_unit(state, terms.unit);
  const privacy::Quote quote =
      privacy::quote(state, terms.mu, terms.secure_noise, act.round.proposal.plan.noise.delta);
  if (!quote.allowed)
    throw PrivacyError(
        fmt::format("This site's privacy budget refuses: {}. No record was read, and nothing was "
                    "charged, drawn or sent. `muffle site decline` tells the others.",
                    quote.text));
}

OwnSums checked_sums(const Act& act) {
  OwnSums own = act.job.sum_records(act.round);
  const bool counted = act.round.proposal.plan.adjacency == privacy::Adjacency::kReplaceOne;
  require(counted || own.records == 0,
          "a private number of records was to be sent: this is a bug in muffle.");
  if (counted && own.records > act.round.proposal.plan.records)
    throw DataError(
        fmt::format("this site has more records than the proposal's plan has in all, {}: the sums "
                    "could overflow. Ask the coordinator for another proposal. Nothing was charged.",
                    act.round.proposal.plan.records));
  if (act.first_records && own.records != *act.first_records)
    throw DataError(
        "this site has another number of records than in the first round of this release, and all rounds "
        "are of the same ones: put the same files back. Nothing was drawn.");
  return own;
}

/// Charged this late, bad records have cost nothing.
void contribute(Act& act, Ready&& ready) {
  ContributionBook& book = *ready.book;
  const std::unique_ptr<privacy::EntropySource> entropy = entropy_of(act.job.entropy);
  constexpr std::size_t kBesideNumbers = std::size_t{1} << 20;
  constexpr std::size_t kCopies = 2;  // the draft goes once the contribution is there
  require_room(act.job.folder, kCopies * (act.round.length * sizeof(std::uint64_t) + kBesideNumbers));
  // A charge without a contribution would be budget for nothing: a request to stop waits, until it has left.
  act.hold = std::make_unique<comm::TerminationHold>();
  book.make(entropy->is_secure(), [&](const release::Charge& charge) {
    privacy::NoiseShare share(act.round.noise.shares(), *entropy, act.job.clock.heartbeat);
    return act.maker.contribute(std::move(ready.sums->sums), std::move(share), charge, ready.sums->records);
  });
  round_times(outbox(act.job.folder));  // when it was written would tell how long the records took
  act.out.push_back({act.name, book.bytes()});
  act.report.done.push_back("contributed, for charge " + book.charge());
  act.wait_for("the coordinator's seal");
  act.leaving = std::move(ready.book);
}

}  // namespace

Next go_on(Act& act, Ready&& ready) {
  SiteVerdict verdict = act.job.verdict();
  if (verdict.answer != SiteVerdict::Answer::kYes) {
    if (verdict.decline) act.out.push_back(std::move(*verdict.decline));
    (verdict.answer == SiteVerdict::Answer::kWait ? act.report.waits : act.report.done)
        .push_back(verdict.why);
    return {Through()};
  }
  if (ready.sums) {
    contribute(act, std::move(ready));
    return {Through()};
  }
  require_budget(act);
  const RefusedRecords refused(act.job.folder, act.round.id);
  refused.require_none();
  // Hours may go by: a person declines, the coordinator abandons or seals the round, its day is over, a limit
  // is lowered. So all is asked again; nothing is charged then.
  return {Looking(act, refused.noted([&] { return checked_sums(act); }))};
}

}  // namespace muffle::round::contributor
