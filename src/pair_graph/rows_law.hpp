// How many rows people have, by noisy counts of which of its person's records a record is.
#pragma once

#include <span>
#include <vector>

#include "muffle/release/noisy_tables.hpp"

namespace muffle::pair_graph {

/// The nearest sequence (least squares) that does not grow and has no negative number: neighbours that would
/// grow are pooled to their mean (isotonic regression; Ayer, Brunk, Ewing, Reid & Silverman 1955).
std::vector<double> not_growing(std::span<const double> counts);

/// Shares of the records that are their person's first, second, .. one, by the tables of tables.row_number:
/// not growing, with sum 1. Where noise leaves nothing, or no table counts them, all are first ones.
/// One law for all classes: which of its person's a record is says nothing of its class.
std::vector<double> rows_law(const release::NoisyTables& tables);

/// Shares of the people who have 1, 2, .. records. @param law  rows_law()
std::vector<double> people_by_rows(std::span<const double> law);

}  // namespace muffle::pair_graph
