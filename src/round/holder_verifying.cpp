#include <fmt/format.h>

#include <algorithm>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::round::holder {
namespace {

using release::Found;

/// @throws ProtocolError  it is not what was published.
Found compare(const Act& act, const Published& published, Sealed&& sealed,
              const std::vector<release::EndedRound>& earlier) {
  const std::vector<release::OpenedBy> opened = sealed.sum.opened();
  privacy::NoisySum sum = std::move(sealed.sum).finish();
  if (act.round.last()) {
    const release::Artifact again = release::artifact_of_round(act.round, sealed.seal, earlier, opened,
                                                               std::move(sum), published.muffle_version);
    const std::string sha256_of_it = to_hex(sha256(PublicBytes(release::artifact_bytes(again))));
    if (release::read_release_statement(act.round, sealed.seal.id, published.statement).sha256 ==
        sha256_of_it)
      return Found::kSame;
    if (Published::hash_of(again.values) != published.numbers)
      throw ProtocolError("contributions and openings add up to other numbers.");
    const release::Artifact& stated = published.stated.value();
    if (again.round != stated.round || again.rounds_before != stated.rounds_before)
      throw ProtocolError("it names other messages, keys or charges than there are.");
    // What another version may reckon otherwise is the hashes of maps and of the plan.
    if (made_by_another_muffle(act, published) && again.is_private == stated.is_private &&
        again.aggregation == stated.aggregation && release::plan_text(again) == release::plan_text(stated))
      return Found::kOtherMuffle;
    throw ProtocolError("it states something else than its messages do.");
  }
  const std::vector<std::uint64_t> numbers(sum.values.begin(), sum.values.end());
  const release::SignedHeader again =
      release::sign(release::sum_of(act.round, sealed.seal, opened, sum.is_private), act.job.key, numbers);
  if (again.body != published.statement.body || again.numbers_sha256 != published.statement.numbers_sha256)
    throw ProtocolError("contributions and openings add up to another sum.");
  return Found::kSame;
}

}  // namespace

Verifying::Verifying(const Act& act, Published&& said, std::vector<release::EndedRound>&& rounds)
    : published(std::move(said)),
      earlier(std::move(rounds)),
      sealed(std::make_unique<Sealed>(act.round, *act.seal)) {
  const release::Proposal& p = act.round.proposal;
  for (std::size_t i = 0; i < sealed->seal.sites.size(); ++i) {
    const crypto::SitePublicKey& key = p.sites[sealed->seal.sites[i]].key;
    needed.insert(sealed->seal.seal.contributions[i].id());
    parts.push_back(
        {Part::Kind::kContribution, wanted(release::contribution_name(act.round.id, key), act.round.length)});
  }
  bool stood_in = false;
  for (std::size_t h = 0; h < published.opened.size(); ++h) {
    const release::OpenedBy& by = published.opened[h];
    needed.insert(by.stand_ins.begin(), by.stand_ins.end());
    stood_in = stood_in || !by.stand_ins.empty();
    if (!by.opening) continue;
    needed.insert(*by.opening);
    parts.push_back({Part::Kind::kOpening,
                     wanted(release::opening_name(act.round.id, p.holders[h].holder.key), act.round.length)});
  }
  if (!stood_in) return;
  for (const release::HolderKey& h : p.holders)
    parts.push_back({Part::Kind::kStandIn, wanted(release::stand_in_name(act.round.id, h.holder.key))});
  parts.push_back({Part::Kind::kRequest, wanted(release::stand_in_request_name(act.round.id))});
}

Next Verifying::receive(Act& act, Received&& received) {
  const Part part = std::move(parts.back());
  parts.pop_back();
  try {
    if (const auto message = message_of(std::move(received))) add(act, part.kind, *message);
  } catch (const ProtocolError& e) {  // damaged, or somebody else's: as if it were not there
    act.report.aside.push_back(part.wanted.name + ": " + e.what());
  }
  if (parts.empty()) return decide(act);
  return {};
}

void Verifying::add(const Act& act, Part::Kind kind, const release::Message& message) {
  if (kind == Part::Kind::kRequest) {
    request.emplace(act.round, sealed->seal, message.header);
    return;
  }
  if (!needed.contains(message.header.id())) return;  // what came later does not count
  switch (kind) {
    case Part::Kind::kContribution:
      sealed->sum.add_contribution(message);
      break;
    case Part::Kind::kOpening:
      sealed->sum.take_opening(message);
      break;
    case Part::Kind::kStandIn:
      if (!request) return;
      sealed->sum.take_stand_in(*request, message.header);
      break;
    case Part::Kind::kRequest:
      break;
  }
  needed.erase(message.header.id());
}

Next Verifying::decide(Act& act) {
  const release::SignedHeader statement = published.statement;
  std::optional<Found> found;
  std::string wrong;
  if (needed.empty()) {
    try {
      found = compare(act, published, std::move(*sealed), earlier);
    } catch (const ProtocolError& e) {
      wrong = e.what();
    }
  }
  act.journal.take_again();
  if (act.journal.state().pending(act.round.id, release::MessageKind::kReceipt)) {
    act.report.done.push_back("another step of this key holder has given its receipt meanwhile");
    return {Through()};
  }
  if (!needed.empty()) return wait_for_the_rest(act, statement);
  if (!wrong.empty()) return object(act, statement, std::move(wrong));
  if (*found == Found::kOtherMuffle) return cannot_compare(act, published);
  return give_receipt(act, statement, *found);
}

}  // namespace muffle::round::holder
