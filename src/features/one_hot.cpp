#include "muffle/features/one_hot.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::features {

BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // beyond, a double is no whole number
  if (!(columns >= 1 && columns <= categories && categories <= kMost)) {
    throw ConfigError(fmt::format(
        "a one-hot block of {} columns with {} categories in all: there must be at least one column, and a "
        "category for each",
        columns, categories));
  }
  return {
      .norm = sqrt_up(divide_up(static_cast<double>(columns), static_cast<double>(categories))),
      .nonnegative_kernel = true,
      .theorem = fmt::format(
          "One-hot features of k = {} columns with d = {} categories in all, each scaled by 1/sqrt(d), have "
          "exactly k entries of 1/sqrt(d) and so norm sqrt(k/d), and no entry is negative.",
          columns, categories)};
}

}  // namespace muffle::features
