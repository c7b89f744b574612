#pragma once

#include <cstdint>
#include <optional>

#include "muffle/core/wipe.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::round {

/// A party's sums under its share of the noise, if it has one; its masks are still to come. Both kinds of
/// Contributor, in lock-step and between institutions, make what leaves of this, and nothing else has the
/// sums' numbers but the processes of a site's own job. Private; move-only; wiped.
struct Covered {
  /// Consumes both. @param share  none: the coordinator draws the noise of all
  /// @throws InvariantError  lengths differ.
  Covered(embed::PartialSum&& sums, std::optional<privacy::NoiseShare>&& share);

  bool secure_noise = true;  ///< false: a share of seeded noise, for tests; the release is NOT PRIVATE
  Wiped<std::uint64_t> values;
};

}  // namespace muffle::round
