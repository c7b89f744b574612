#pragma once

#include <cstdint>
#include <vector>

#include "muffle/privacy/release.hpp"
#include "muffle/privacy/round_parties.hpp"

namespace muffle::privacy {

/// The noise of a round between institutions: every site adds a share to its contribution, before anybody
/// knows how many others come; if too few do, every key holder adds a top-up to its opening. Whoever pools
/// what t sites and t_h key holders know faces the full noise all the same, with f holders missing
/// (docs/explanation/between-institutions.md, theorem 3). Public.
class SiteNoisePlan {
 public:
  /// @throws ConfigError  as require_valid(); a share or a top-up too small for the theorem (below 4 lattice
  /// units: no real release comes near); a total beyond the sampler's range of 2^50 lattice units.
  SiteNoisePlan(const NoisePlan& plan, const RoundParties& parties);

  const RoundParties& parties() const { return parties_; }
  /// NoisePlan::parts with the share's sigma_lattice: the least integer s with (N - t) s^2 >= planned^2.
  const std::vector<NoisePart>& shares() const { return shares_; }
  /// What each key holder adds where `sealed` contributions count: the least integer s_h with (u - t) s^2 +
  /// (m - f - t_h) s_h^2 >= planned^2, 0 if the shares alone reach it, else at least 4.
  /// @throws InvariantError  fewer are sealed than the least, or more than are invited.
  std::vector<NoisePart> top_ups(int sealed) const;
  /// Variance, lattice units squared, of what a coalition faces at the least; never below planned^2.
  double honest_sigma(int sealed, std::size_t part, std::size_t run) const;
  /// Standard deviation of what the released numbers carry, lattice units.
  /// @param opened  by how many holders; the others' openings were made by stand-ins, without noise.
  double total_sigma(int sealed, int opened, std::size_t part, std::size_t run) const;
  /// Standard deviation of a site's own share over the planned one: what protects it if everybody else, and
  /// the cryptography, betray it. mu is divided by this.
  double alone() const;
  /// Upper bound of ln(d tau) over all coalitions and numbers sealed, as DistributedNoisePlan's.
  double log_closeness() const { return log_closeness_; }

 private:
  RoundParties parties_;
  std::vector<NoisePart> planned_, shares_;
  double log_closeness_ = 0.0;
};

/// A key holder's top-up: round(N(0, s_h^2)) for each number, 0 where none is needed. Secret until it is
/// added to the opening; the caller wipes it. @param top_ups  SiteNoisePlan::top_ups()
std::vector<std::int64_t> draw_top_up(const std::vector<NoisePart>& top_ups, EntropySource& entropy,
                                      const Heartbeat& heartbeat = {});

}  // namespace muffle::privacy
