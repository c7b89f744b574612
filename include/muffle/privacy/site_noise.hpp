#pragma once

#include <cstdint>
#include <vector>

#include "muffle/privacy/release.hpp"

namespace muffle::privacy {

/// Who takes part in a round between institutions, and who of them may be curious or missing. Public; the
/// proposal says it. Sites hold records; key holders open the sum together.
struct RoundParties {
  int sites = 0;              ///< n: those that are invited
  int expected = 0;           ///< N: how many are expected to contribute; k <= N <= n
  int least = 0;              ///< k: fewer make no release
  int colluding = 1;          ///< t: of the sites whose contributions count, how many may pool what they know
  int holders = 0;            ///< m: key holders
  int colluding_holders = 1;  ///< t_h: how many of them may pool what they know
  int missing_holders = 0;    ///< f: how many of them may fail to open
  bool operator==(const RoundParties&) const = default;
};

/// @throws ConfigError  n, N, k or m out of range or order; k <= t; N <= t; m - f - t_h < 1; f > 0 with m <
/// f^2 + f + t_h + 1 (so many keys that stand-ins cannot rebuild enough of them): all problems in one
/// message.
void require_valid(const RoundParties& parties);

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
