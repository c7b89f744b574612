#pragma once

#include <optional>
#include <vector>

#include "muffle/release/noisy_tables.hpp"
#include "muffle/release/noisy_tree.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::release {

/// What a release says of one column: how many records have each of its codes, plus noise of a known size.
/// Codes that were counted as one group share its number evenly, as nobody knows better. Public.
struct NoisyMargin {
  std::vector<double> counts;        ///< of each code
  std::vector<std::uint32_t> group;  ///< of each code, which noise is in it: codes of one group have the same
  std::vector<double> share;         ///< of each code, of its group's count: 1 where it is a group by itself
  double sigma = 0.0;                ///< standard deviation of the noise in a group's count, records
  std::optional<NoisyTree> tree = {};  ///< of learned bins, which all levels of their tree tell together
};
/// Of each number of a record, then of the label if there are classes: by the table that tells it best. One
/// without counts: it is in none of them.
std::vector<NoisyMargin> noisy_margins(const NoisyTables& tables, const schema::Schema& schema);

}  // namespace muffle::release
