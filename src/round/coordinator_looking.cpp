#include <fmt/format.h>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round::coordinator {
namespace {

/// What is called like a message of this round, and is nobody's who takes part.
void put_strangers_aside(Act& act, const std::vector<std::string>& names) {
  const auto known = release::messages_of(act.round);
  for (const std::string& name : names) {
    if (release::is_of_round(name, act.round.id) && !known.contains(name) &&
        name != release::proposal_name(act.round.id))
      act.report.aside.push_back(name + ": it is of nobody who takes part in the round");
  }
}

}  // namespace

Looking::Looking(const Act& act) : seen({wanted_names(), act.abandonment.wants(), act.statement.wants()}) {}

Next Looking::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  for (BoundMessage* const own : {&act.abandonment, &act.statement})
    own->look(std::move(seen.at(own->wants().name)));
  if (act.gives_up) {
    if (act.statement.sent(act.out))
      throw ConfigError("the round is released: what is public cannot be abandoned.");
    if (!act.abandonment.sent(act.out)) act.give_up(*act.gives_up, "somebody decided it");
    return {Through()};
  }
  put_strangers_aside(act, seen.at(wanted_names().name).names);
  if (const auto given_up = act.abandonment.sent(act.out)) {
    act.report.lost = true;
    act.report.done.push_back(fmt::format("the round is abandoned ({})",
                                          name_of(release::check_abandonment(act.round, *given_up))));
    return {Through()};
  }
  if (act.statement.sent(act.out)) return release_again(act);
  if (act.round.proposal.later) return {GoingOn{release::EarlierRounds(act.round)}};
  return {Sealing(act)};
}

}  // namespace muffle::round::coordinator
