#include <fmt/format.h>

#include "holder_states.hpp"

namespace muffle::round::holder {

/// What is missing may still come, until the round's last day: a receipt is given once.
Next wait_for_the_rest(Act& act, const release::SignedHeader& statement) {
  if (act.job.clock.now() > act.round.proposal.last_day())
    return give_receipt(act, statement, release::Found::kNotAllThere);
  act.report.waits.push_back(
      fmt::format("contributions and openings that the round's end is made of, to add it up before it gives "
                  "its receipt; after {} it gives one that says that they were not here",
                  time_text(act.round.proposal.last_day())));
  return {Through()};
}

Next give_receipt(Act& act, const release::SignedHeader& statement, release::Found found) {
  act.give_receipt(statement, found);
  act.report.done.push_back(fmt::format(
      "the round {}; sent a receipt{}", act.round.last() ? "is released" : "has its sum",
      found == release::Found::kSame ? ": contributions and openings add up to it"
                                     : ", unverified: not all contributions and openings are here"));
  return go_on(act);
}

Next cannot_compare(Act& act, const Published& published) {
  act.give_receipt(published.statement, release::Found::kOtherMuffle);
  act.report.done.push_back(fmt::format(
      "the round is released, by muffle {}; this is {}, and they cannot be compared bit for bit: {}. Sent a "
      "receipt that says so; `muffle verify --evidence` of version {} tells the rest",
      published.muffle_version, act.job.muffle_version,
      published.problem.empty()
          ? "its numbers are what contributions and openings add up to, and it names the "
            "messages that there are"
          : "this one cannot read it",
      published.muffle_version));
  return go_on(act);
}

Next go_on(Act& act) {
  if (!act.round.last()) return {AwaitingNext(act.round)};
  return {Through()};
}

}  // namespace muffle::round::holder
