#include "contributor_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::contributor {

Looking::Looking(const Act& act, std::optional<OwnSums>&& summed)
    : sums(std::move(summed)),
      seen({wanted(release::abandonment_name(act.round.id)), wanted(act.name, act.round.length)}) {}

Next Looking::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  const Received abandonment = std::move(seen.at(release::abandonment_name(act.round.id)));
  Received own = std::move(seen.at(act.name));
  std::optional<std::string>& bytes = bytes_of(own);
  const bool there = bytes.has_value();
  std::unique_ptr<ContributionBook> book = act.book();
  const ContributionBook::Standing standing = book->settle(bytes);
  bytes.reset();
  if (sums) {  // from the charge to its COMMIT the ledger is locked
    if (standing != ContributionBook::Standing::kNew)
      throw ProtocolError("another step of this site has contributed meanwhile. Run the command again.");
    return {Consenting(act, {std::move(sums), std::move(book)})};
  }
  switch (standing) {
    case ContributionBook::Standing::kMade:
      break;
    case ContributionBook::Standing::kSpent:
      if (act.is_abandoned(abandonment)) return {Through()};
      act.report.lost = true;
      act.report.waits.clear();
      act.report.done.push_back(
          "this site has drawn its share of the noise for this round, once for its charge, and was cut off "
          "before the contribution was kept, made it under another proposal, or gave it up with the "
          "round. The charge stays spent: no second contribution is drawn for it, and this site has no "
          "part in the round");
      return {Through()};
    case ContributionBook::Standing::kNew:
      return {Consenting(act, {})};  // the ledger is free while records are summed
  }
  if (!there) return {Kept(act, std::move(book))};
  return {Sent(act, std::move(book))};
}

}  // namespace muffle::round::contributor
