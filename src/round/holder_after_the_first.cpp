#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

AfterTheFirst::AfterTheFirst(const Act& act)
    : seen({wanted(release::proposal_name(act.round.first())),
            wanted(release::seal_name(act.round.first()))}) {}

Next AfterTheFirst::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  try {
    const std::string name = release::proposal_name(act.round.first());
    const auto proposal = message_of(std::move(seen.at(name)));
    const auto sealed = message_of(std::move(seen.at(release::seal_name(act.round.first()))));
    if (proposal && sealed) {
      const ProposedRound first(*proposal, name);
      const release::SealedRound seal(first, sealed->header);
      const auto own = first.holder(act.job.key.public_key());
      if (first.id == act.round.first() && first.coordinator == act.round.coordinator && own &&
          act.journal.state().seal_of(first.proposal.holders[*own].point) == seal.id)
        return ask(act, std::vector<std::size_t>(seal.sites));
    }
  } catch (const ProtocolError& e) {
    act.report.aside.push_back(fmt::format("the release's first round: {}", e.what()));
  }
  return ask(act, all_sites(act.round));
}

}  // namespace muffle::round::holder
