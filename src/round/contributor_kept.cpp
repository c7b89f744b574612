#include "contributor_states.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::contributor {

Kept::Kept(const Act& act, std::unique_ptr<ContributionBook>&& made)
    : book(std::move(made)), abandonment(wanted(release::abandonment_name(act.round.id))) {}

Next Kept::receive(Act& act, Received&& received) {
  if (act.is_abandoned(received)) {
    book->give_up();
    return {Through()};
  }
  act.out.push_back({act.name, book->bytes()});
  act.report.done.push_back("contributed, for charge " + book->charge());
  return {Sent(act, std::move(book))};
}

}  // namespace muffle::round::contributor
