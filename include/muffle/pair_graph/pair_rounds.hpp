#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/features/pairs.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::pair_graph {

/// How many rounds a release of counts takes, and which share of mu^2 each gets: by the error that is to be
/// expected, from public numbers alone (docs/explanation/pair-graph.md, "Rounds").
/// @param workload  the map's own tables
/// @param records  m, or a guess; 0: there is none
/// @param sigma  of the noise in a cell of a table that had the whole budget for itself, records: the noise
/// multiplier times the sensitivity, sqrt(2) under replace-one
/// Where bins are learned the first round learns them, and there are at least two.
/// @param rounds  1 to 3; 0: chosen
/// @returns  a share for each round, which sum to 1
/// @throws ConfigError  `rounds` is above privacy::kMostRoundsOfCounts
std::vector<double> round_shares(const features::CountTables& workload, std::size_t classes, double records,
                                 double sigma, std::size_t rounds);

/// What round_shares() may have been with so many rounds, whatever the records and the noise: a verifier does
/// not know what the owner guessed.
std::vector<std::vector<double>> possible_shares(const features::CountTables& workload, std::size_t rounds);

/// Groups of a column whose bins are learned hold sqrt(kLeastLearned sigma n) records, sigma the noise of a
/// pair's cell: within a group the first round's law draws the cell, so that coarse ones lose less than
/// others.
inline constexpr double kLeastLearned = 0.3;
/// How many they will be, were all alike. @param records  0: nobody knows
double groups_beforehand(double records, double sigma);

/// Which rule tables_of_round() goes by: a release states it, and only a muffle of the same rule can repeat
/// the choice. Counted up whenever the same numbers may lead to other tables.
inline constexpr int kRuleOfRounds = 2;

/// All pairs of a workload whose bins are learned, on as many groups as are to be expected: what a plan goes
/// by before any number is known. @param sigma_round  as for tables_of_round()
std::vector<features::CountTable> tables_beforehand(const features::CountTables& workload, double records,
                                                    double sigma_round);

struct Choice {
  std::vector<features::CountTable> tables;
  /// Of a later round, each column's: for every code its group.
  std::vector<std::vector<std::uint32_t>> groups{};
  /// Another build may round a number otherwise and give these columns other groups.
  std::vector<bool> columns_in_doubt{};
  /// It may choose other pairs, and so other groups for any column.
  bool pairs_in_doubt = false;

  bool in_doubt(std::size_t column) const { return pairs_in_doubt || columns_in_doubt.at(column); }
  /// Every build chooses these.
  bool steady() const;
};

/// The tables that a round counts, chosen from noisy numbers and known noise alone: post-processing. The same
/// inputs give the same tables on every build, for it compares numbers in whole steps (2^-20 of all records,
/// and of the largest gain there can be), and the first of equal ones wins. Columns and pairs that the
/// workload does not hold are never counted; its weights count in the choice and in the tables' own. `first`
/// and `cells` are filled in.
/// @param so_far  all tables of the rounds before; for round 0 its tables are not looked at
/// @param round  from 0, below `rounds`
/// @param sigma_round  of the noise in a cell of a table that had the whole share of this round for itself;
/// a table of weight w has sigma_round sqrt(sum of squared weights) / w
/// @returns  at least one, if the workload holds one
Choice tables_of_round(const features::CountTables& workload, const release::NoisyTables& so_far,
                       std::size_t classes, std::size_t round, std::size_t rounds, double sigma_round);

/// What a build would have chosen for a later round, were everything that is in doubt in `own` as the
/// `stated` tables say. Where these differ, no build chose them. @param own  tables_of_round() of the same
/// round
std::vector<features::CountTable> settled_as(const std::vector<features::CountTable>& stated,
                                             const Choice& own, const features::CountTables& workload,
                                             const release::NoisyTables& so_far, std::size_t round,
                                             std::size_t rounds);

}  // namespace muffle::pair_graph
