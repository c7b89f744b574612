#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {
namespace {

std::vector<std::size_t> all_sites(const ProposedRound& round) {
  std::vector<std::size_t> all(round.proposal.sites.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

Sealing::Sealing(const Act& act) : sealed(wanted(release::seal_name(act.round.id))) {}

Next Sealing::receive(Act& act, Received&& received) {
  act.take_seal(std::move(received));
  if (!act.seal) {
    act.report.waits.push_back("the coordinator's seal; the round ends " +
                               time_text(act.round.proposal.open_until));
    return {Through()};
  }
  if (act.journal.state().seal_of(act.own.point)) return open(act);  // it was bound to this one
  if (act.round.proposal.later) return {AfterTheFirst(act)};
  return ask(act, all_sites(act.round));
}

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

Next ask(Act& act, std::vector<std::size_t>&& asked) {
  std::erase_if(asked, [&](std::size_t site) { return std::ranges::binary_search(act.seal->sites, site); });
  if (asked.empty()) return open(act);
  return {Asking(act, std::move(asked))};
}

namespace {

std::vector<Wanted> declines_of(const Act& act, const std::vector<std::size_t>& sites) {
  std::vector<Wanted> out;
  for (const std::size_t i : sites)
    out.push_back(wanted(release::decline_name(act.round.id, act.round.proposal.sites[i].key)));
  return out;
}

}  // namespace

Asking::Asking(const Act& act, std::vector<std::size_t>&& sites)
    : left_out(std::move(sites)), seen(declines_of(act, left_out)) {}

/// A seal of fewer than were invited is opened before the deadline only if the others have declined.
Next Asking::receive(Act& act, Received&& received) {
  if (!seen.take(std::move(received))) return {};
  std::vector<std::string> silent;
  for (const std::size_t i : left_out) {
    const crypto::SignerKey& site = act.round.proposal.sites[i];
    const std::string name = release::decline_name(act.round.id, site.key);
    bool declined = false;
    try {
      const auto message = message_of(std::move(seen.at(name)));
      declined = message && release::check_decline(act.round, message->header).site == i;
    } catch (const ProtocolError& e) {
      act.report.aside.push_back(name + ": " + e.what());
    }
    if (!declined) silent.push_back(site.name);
  }
  if (silent.empty() || act.job.clock.now() > act.round.proposal.contribute_until) return open(act);
  act.report.waits.push_back(
      fmt::format("{}, whom the seal leaves out though they may still contribute until {}",
                  fmt::join(silent, ", "), time_text(act.round.proposal.contribute_until)));
  return {Through()};
}

}  // namespace muffle::round::holder
