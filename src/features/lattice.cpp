#include "muffle/features/lattice.hpp"

#include <fmt/core.h>

#include "muffle/core/error.hpp"

namespace muffle::features {

void require_no_overflow(std::uint64_t records, const Lattice& lattice) {
  if (lattice.bits < 8 || lattice.bits > 24) {
    throw ConfigError(fmt::format("lattice bits is {}; it must be 8 to 24", lattice.bits));
  }
  const std::uint64_t limit = std::uint64_t{1} << (62 - lattice.bits);
  if (records >= limit) {
    throw ConfigError(
        fmt::format("{} records on a lattice of {} bits could overflow a 64-bit sum: the number of records "
                    "must be below 2^{}; "
                    "lower the lattice's bits or split the data set",
                    records, lattice.bits, 62 - lattice.bits));
  }
}

}  // namespace muffle::features
