#pragma once

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

}  // namespace muffle::privacy
