// Which tables a map of counts holds by its settings, and what tables may be at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/settings.hpp"
#include "muffle/features/pairs.hpp"

namespace muffle::features {

inline constexpr std::size_t kMostCounted = 4096;
/// Of one class. Wider tables would hold noise alone.
inline constexpr std::size_t kMostCountedCells = std::size_t{1} << 24;
/// The same of what rounds choose from, where bins are learned: nothing is counted on all cells of a grid.
inline constexpr double kMostStated = 0x1p50;
/// No column; in a weight's text, any.
inline constexpr std::size_t kAnyColumn = ~std::size_t{0};

/// How the tables of several columns are counted that have a column whose bins are learned.
enum class Learned {
  kAsTheyAre,  ///< on their groups, or all cells of the grid
  kInGroups,   ///< later, on groups of its cells: what is stated is what rounds choose from
};

/// Of one class, as a double, so that nothing can overflow. @param most  a column is counted with no more
/// codes than this
double cells_of(const CountTables& all, Learned learned, double most = 1e300);
/// What is wrong with a table that was not chosen by settings; empty: nothing.
std::string wrong_table(const CountTable& table, const std::vector<std::size_t>& codes);
/// Of one text of TableChoice::weights; empty: nothing.
std::string wrong_weight(const std::string& text);

/// The settings.
struct TableChoice {
  double singles = 0.7;  ///< v: measured in docs/explanation/pairs.md, "weights"
  std::vector<std::string> leave_out = {}, weights = {}, triples = {};
};

/// The columns of the records, by name.
struct CountedColumns {
  std::vector<std::string> names = {};         ///< of a record's numbers
  std::size_t target = kAnyColumn;             ///< which of those is the target; kAnyColumn: none
  std::string label = {};                      ///< that has classes; empty: there is none
  std::optional<std::size_t> row_number = {};  ///< CountTables::row_number
};

/// @throws ConfigError  with all that is wrong with the settings.
CountTables choose_tables(const TableChoice& choice, const CountedColumns& columns,
                          std::vector<std::size_t> codes, std::vector<std::size_t> grid_cells);

}  // namespace muffle::features
