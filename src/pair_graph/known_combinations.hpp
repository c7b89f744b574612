// Columns of which the schema says which codes go together: their counts agree on what is allowed.
#pragma once

#include <vector>

#include "muffle/release/noisy_tables.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::pair_graph {

/// Fits records in the allowed cells of every combination to what was counted of both columns and of the
/// pair, by what each is worth against its noise; the columns' counts become these cells' sums
/// (Margins::known). A class that goes with some codes alone keeps no records of the others.
/// @param variance  d: of the noise in a code's count, as measured; infinite: nothing counts the column
void keep_combinations(const release::NoisyTables& tables, const std::vector<double>& variance,
                       Margins& margins, const Heartbeat& heartbeat);

}  // namespace muffle::pair_graph
