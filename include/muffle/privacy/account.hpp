#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muffle/bounds/bounds.hpp"

namespace muffle::privacy {

/// What is asked of `muffle account`: what Gaussian releases promise, or what noise a promise needs.
struct AccountRequest {
  std::optional<double> epsilon, delta;
  std::vector<double> noise_multipliers;  ///< one a release; together with mus
  std::vector<double> mus;                ///< sensitivity / sigma of further releases
  std::uint64_t releases = 1;             ///< each of the above (or the one sought) happens so often
  std::string adjacency = "replace-one";
  std::vector<std::string> blocks;  ///< "norm=1,kernel=signed|nonnegative,weight=1", each part optional
  std::optional<double> counts;     ///< weight of class counts released beside the blocks
  std::uint64_t max_records_per_person = 1;
  std::string format = "text";
  std::vector<bounds::NamedBound> named_bounds = {};  ///< what a block may say in place of a norm
};
/// What it prints, in `format` "text" or "json"; docs/reference/accounting.md has the theorems and the JSON
/// keys. Any two of {epsilon, delta, the noise (noise multipliers and mus)} give the third.
/// @throws UsageError   not exactly two of the three, or a block that cannot be read.
/// @throws ConfigError  NaN, 0, negative numbers, and numbers beyond the accountant's domain.
std::string account(const AccountRequest& request);

}  // namespace muffle::privacy
