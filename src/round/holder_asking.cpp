#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {

std::vector<std::size_t> all_sites(const ProposedRound& round) {
  std::vector<std::size_t> all(round.proposal.sites.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
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
