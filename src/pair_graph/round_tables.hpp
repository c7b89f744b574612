// The tables of a later round, made of pairs of columns and of groups of their codes.
#pragma once

#include <cstddef>
#include <vector>

#include "code_groups.hpp"
#include "muffle/features/pairs.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::pair_graph {

/// A pair of columns that the workload counts, by itself or within three.
struct Candidate {
  std::size_t first, second;
  double weight;
};

/// In the order of their columns.
std::vector<Candidate> candidates(const features::CountTables& workload);
/// Whether the bins of column j are learned.
bool has_learned_bins(const features::CountTables& workload, std::size_t j);
/// Whether a later round counts all pairs, on groups, and not chosen ones: where bins are learned the first
/// round has counted no pair.
bool counts_all_pairs(const features::CountTables& workload, std::size_t round, std::size_t rounds);
/// Every column of the workload by itself: where bins are learned, level by level of its tree.
std::vector<features::CountTable> single_columns(const features::CountTables& workload);

/// The tables, and behind them that of the workload's row_number, if it has one: with the share of the sum of
/// squares that it has in the workload, so that every round counts it alike.
std::vector<features::CountTable> with_rows_counted(const features::CountTables& workload,
                                                    std::vector<features::CountTable> tables);

/// Of all `pairs`, on each column's groups. @param more_than_one  pairs whose columns have one group each are
/// left out
std::vector<features::CountTable> tables_on(const std::vector<Candidate>& pairs,
                                            const std::vector<Groups>& groups, bool more_than_one);

/// How codes may be merged: within the groups of the earlier tables, so that all of them nest.
std::vector<Groups> bounds_of(const release::NoisyTables& so_far);

}  // namespace muffle::pair_graph
