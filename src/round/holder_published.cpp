#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

Published::Published(const ProposedRound& round, const RoundEnd& end) : statement(end.statement().value()) {
  if (!round.last()) {
    opened = release::sum_in(round, statement).opened;
    return;
  }
  const release::Artifact artifact = release::parse_artifact(end.release(), release::release_name(round.id));
  muffle_version = artifact.muffle_version;
  if (!artifact.round || artifact.round->holders.size() != round.proposal.holders.size()) return;
  opened = release::opened_in(*artifact.round);
}

Next verify(Act& act, Published&& published) {
  if (const auto receipt = act.receipt.sent(act.out)) {
    const bool objects =
        receipt->answers == published.statement.id() &&
        release::check_receipt(act.round, published.statement, *receipt).found == release::Found::kOther;
    return objects ? Next{Objecting(act, "as was found before.")} : go_on(act);
  }
  if (!act.seal) return wait_for_the_rest(act, published.statement);
  if (act.round.last() && act.round.proposal.later)
    return {ReadingEarlier{std::move(published), release::EarlierRounds(act.round)}};
  return {Verifying(act, std::move(published), {})};
}

}  // namespace muffle::round::holder
