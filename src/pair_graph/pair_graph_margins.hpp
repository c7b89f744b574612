// What noisy tables say about the laws of single columns and of pairs, cleaned of noise as far as it can be.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "learned_columns.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::pair_graph {

/// All tables' counts of one pair of columns, combined, class by class.
struct PairCounts {
  std::size_t first = 0, second = 0;  ///< columns, first < second
  /// Which group each code is counted in.
  std::vector<std::size_t> first_group, second_group;
  std::vector<Eigen::MatrixXd> counts;  ///< C of first's groups x second's groups
  double sigma = 0.0;                   ///< root mean square of the noise in a cell
};

/// Two columns of which the schema says which codes go together.
struct KnownPair {
  std::size_t first = 0, second = 0;         ///< columns, first < second
  std::vector<bool> allowed;                 ///< first's codes x second's codes
  std::vector<std::uint32_t> rows, columns;  ///< of each allowed cell
  /// C of these: records of each allowed cell; the columns' counts are their sums.
  std::vector<Eigen::VectorXd> counts = {};

  /// first's codes x second's codes: records of class c, 0 where not allowed.
  Eigen::MatrixXd table(std::size_t c, const std::vector<std::size_t>& codes) const;
};

/// Whether a column's codes go up.
enum class Order { kNone, kNumbers, kNumbersAndMissing };  ///< the last: but for the last code

/// Everything that the tables say about one and two columns.
struct Margins {
  std::vector<std::size_t> codes;                    ///< d
  std::vector<double> size;                          ///< C, records of each class, >= 1
  std::vector<std::vector<Eigen::VectorXd>> column;  ///< C of d: records of each code, sum size[c]
  std::vector<PairCounts> pairs;                     ///< the measured ones
  std::vector<KnownPair> known = {};                 ///< counted or not
  std::vector<std::vector<Tail>> tails = {};         ///< d; LearnedColumns::tails
  std::vector<Order> order = {};                     ///< d: of columns whose bins are learned

  std::size_t classes() const { return size.size(); }
};

/// Inverse-variance means over all tables: sizes, then single columns (drawn to all classes' law by their
/// noise, and not negative), and each pair's counts, as they are. Columns whose combinations are listed hold
/// no others (known_combinations.hpp).
Margins combine_tables(const release::NoisyTables& tables, const Heartbeat& heartbeat = {});

/// A pair's law in each class: C of first's codes x second's codes, probabilities with the columns' own laws
/// as margins. A class's is empty where noise hides most of the interaction.
using PairLaw = std::vector<Eigen::MatrixXd>;

/// Each pair's interaction, shrunk by its noise. @returns one for each of margins.pairs
std::vector<PairLaw> shrink_interactions(const Margins& margins, const Heartbeat& heartbeat);

/// The non-negative table nearest to `table` (least squares, then iterative proportional fitting) with these
/// margins, both with the same sum. Cells are at least a trace of independence.
Eigen::MatrixXd with_margins(Eigen::MatrixXd table, const Eigen::VectorXd& rows,
                             const Eigen::VectorXd& columns);

}  // namespace muffle::pair_graph
