#include "muffle/privacy/site_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lattice_squares.hpp"
#include "muffle/core/error.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::privacy {
namespace {

constexpr int kMostSites = 1 << 16, kMostHolders = 10;
/// The least that two summands of the noise may have for their sum to pass for a Gaussian.
constexpr std::uint64_t kLeastTopUp = 4;

/// Of one run: planned sigma, a site's share s.
std::uint64_t top_up_of(std::uint64_t planned, std::uint64_t share, int sealed, const RoundParties& parties) {
  const Uint128 wanted = square(planned);
  const Uint128 held = square(share) * static_cast<unsigned>(sealed - parties.colluding);
  if (held >= wanted) return 0;
  const int honest = parties.holders - parties.missing_holders - parties.colluding_holders;
  return std::max(kLeastTopUp, least_root(wanted - held, static_cast<std::uint64_t>(honest)));
}

double root_of(std::uint64_t share, int shares, std::uint64_t top_up, int top_ups) {
  const auto s = static_cast<double>(share), h = static_cast<double>(top_up);
  return std::sqrt(shares * s * s + top_ups * h * h);
}

}  // namespace

void require_valid(const RoundParties& p) {
  settings::Problems problems;
  problems.unless(p.sites >= 2 && p.sites <= kMostSites,
                  fmt::format("{} sites are invited, and it must be 2 to {}", p.sites, kMostSites));
  problems.unless(p.holders >= 3 && p.holders <= kMostHolders,
                  fmt::format("there are {} key holders, and it must be 3 to {}", p.holders, kMostHolders));
  problems.unless(p.least >= 2 && p.least <= p.expected && p.expected <= p.sites,
                  fmt::format("{} sites are invited, {} expected and {} the least that make a release: write "
                              "2 <= least <= expected <= invited",
                              p.sites, p.expected, p.least));
  problems.unless(p.colluding >= 0 && p.colluding < p.least,
                  fmt::format("{} sites may collude, but a release may be of {} contributions: at least one "
                              "of these must be honest",
                              p.colluding, p.least));
  const bool counts = p.colluding_holders >= 0 && p.missing_holders >= 0;
  problems.unless(
      counts && p.holders - p.missing_holders - p.colluding_holders >= 1,
      fmt::format("of {} key holders {} may be missing and {} collude, but at least one more must be honest "
                  "and there",
                  p.holders, p.missing_holders, p.colluding_holders));
  const std::int64_t f = p.missing_holders, needed = f * f + f + p.colluding_holders + 1;
  problems.unless(!counts || f == 0 || p.holders >= needed,
                  fmt::format("{} key holders may be missing and {} collude: that takes {} key holders, or "
                              "two sums could be opened; there are {}",
                              f, p.colluding_holders, needed, p.holders));
  problems.throw_if_any("the parties of the round are wrong", settings::Problems::kNotReleased);
}

SiteNoisePlan::SiteNoisePlan(const NoisePlan& plan, const RoundParties& parties)
    : parties_(parties), planned_(plan.parts), shares_(plan.parts) {
  require_valid(parties);
  const auto honest = static_cast<std::uint64_t>(parties.expected - parties.colluding);
  std::uint64_t least = 0;
  double most = 0.0;
  for (NoisePart& part : shares_) {
    for (NoiseRun& run : part.runs) {
      const std::uint64_t planned = run.sigma_lattice;
      require(planned >= 1 && planned <= kMaxSigmaLattice,
              "noise was to be shared that had not been planned: this is a bug in muffle.");
      run.sigma_lattice = least_root(square(planned), honest);
      least = least == 0 ? run.sigma_lattice : std::min(least, run.sigma_lattice);
      for (int u = parties.least; u <= parties.sites; ++u) {
        const std::uint64_t top_up = top_up_of(planned, run.sigma_lattice, u, parties);
        if (top_up > 0) least = std::min(least, top_up);
        most = std::max(most, root_of(run.sigma_lattice, u, top_up, parties.holders));
      }
    }
  }
  require(least > 0, "noise was to be shared that had not been planned: this is a bug in muffle.");
  // Summands of two sizes are no closer to a Gaussian than as many of the smaller (theorem 3).
  log_closeness_ = log_closeness_bound(least, parties.sites + parties.holders);
  settings::Problems problems;
  problems.unless(
      log_closeness_ <= kMaxLogCloseness,
      fmt::format("a site's share would have sigma {} lattice units, too few for the sum of shares "
                  "to pass for a Gaussian: use more lattice bits or a smaller epsilon",
                  least));
  problems.unless(
      most <= static_cast<double>(kMaxSigmaLattice),
      fmt::format("all shares together have sigma {:.6g} lattice units, beyond 2^50: use a larger "
                  "epsilon or fewer sites",
                  most));
  problems.throw_if_any("the noise cannot be shared", settings::Problems::kNotReleased);
}

std::vector<NoisePart> SiteNoisePlan::top_ups(int sealed) const {
  require(sealed >= parties_.least && sealed <= parties_.sites,
          "a sum of too few or too many contributions was to be opened: this is a bug in muffle.");
  std::vector<NoisePart> out = planned_;
  for (std::size_t p = 0; p < out.size(); ++p) {
    for (std::size_t r = 0; r < out[p].runs.size(); ++r) {
      std::uint64_t& sigma = out[p].runs[r].sigma_lattice;
      sigma = top_up_of(sigma, shares_[p].runs[r].sigma_lattice, sealed, parties_);
    }
  }
  return out;
}

double SiteNoisePlan::honest_sigma(int sealed, std::size_t part, std::size_t run) const {
  const std::uint64_t share = shares_.at(part).runs.at(run).sigma_lattice;
  const std::uint64_t top_up = top_ups(sealed).at(part).runs.at(run).sigma_lattice;
  const int honest = parties_.holders - parties_.missing_holders - parties_.colluding_holders;
  return root_of(share, sealed - parties_.colluding, top_up, honest);
}

double SiteNoisePlan::total_sigma(int sealed, int opened, std::size_t part, std::size_t run) const {
  const std::uint64_t share = shares_.at(part).runs.at(run).sigma_lattice;
  const std::uint64_t top_up = top_ups(sealed).at(part).runs.at(run).sigma_lattice;
  return root_of(share, sealed, top_up, opened);
}

double SiteNoisePlan::alone() const {
  double least = 1.0;  // a share is never above what was planned
  for (std::size_t p = 0; p < planned_.size(); ++p) {
    for (std::size_t r = 0; r < planned_[p].runs.size(); ++r)
      least = std::min(least, static_cast<double>(shares_[p].runs[r].sigma_lattice) /
                                  static_cast<double>(planned_[p].runs[r].sigma_lattice));
  }
  return least * (1 - 1e-15);
}

std::vector<std::int64_t> draw_top_up(const std::vector<NoisePart>& top_ups, EntropySource& entropy,
                                      const Heartbeat& heartbeat) {
  std::vector<NoisePart> needed;
  for_each_run(top_ups, [&](std::uint64_t, const NoiseRun& run) {
    if (run.sigma_lattice > 0) needed.push_back({{run}, 1});
  });
  const Wiped<std::int64_t> drawn{draw_noise(needed, entropy, heartbeat)};
  std::vector<std::int64_t> noise(length_of(top_ups));
  auto next = drawn.values.begin();
  for_each_run(top_ups, [&](std::uint64_t first, const NoiseRun& run) {
    if (run.sigma_lattice == 0) return;
    const auto end = next + static_cast<std::ptrdiff_t>(run.count);
    std::copy(next, end, noise.begin() + static_cast<std::ptrdiff_t>(first));
    next = end;
  });
  return noise;
}

}  // namespace muffle::privacy
