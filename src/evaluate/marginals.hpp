#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::evaluate {

/// All sets of `size` out of `columns` columns, or `most` of them drawn by the public seed; each ascending,
/// in lexicographic order.
std::vector<std::vector<std::size_t>> column_sets(std::size_t columns, std::size_t size, std::size_t most,
                                                  std::uint64_t seed);

/// What of one column set's joint law two tables differ by.
struct SetDistance {
  std::vector<std::size_t> columns;
  double tvd = 0.0;  ///< total variation: half the sum over cells of the difference of shares
};

/// Total variation between two tables over sets of columns, streamed: both files are read once for every
/// 2^25 cells; memory is theirs (256 MiB) and a batch. Columns are the features by their codes (where bins
/// are learned, by 16 groups of about equally many records of `one`, which is read once more), then the label
/// as the last one, where there is one. Rows whose label is no class are left out.
/// @param sets  each has at most kMostCells cells (cells_of())
/// @throws DataError, IoError; DataError: one of the tables holds no rows.
std::vector<SetDistance> total_variation(const data::DataSpec& one, const data::DataSpec& other,
                                         std::span<const std::vector<std::size_t>> sets,
                                         const Heartbeat& heartbeat);

/// Features, then the label.
std::vector<std::string> names_of_columns(const schema::Table& table);
/// Codes, or groups of them, of the columns, likewise.
std::vector<std::size_t> codes_of_columns(const schema::Schema& schema);
double cells_of(std::span<const std::size_t> columns, std::span<const std::size_t> codes);
inline constexpr std::size_t kMostCells = std::size_t{1} << 25;

/// Cells of a column whose bins are learned are compared in so many groups at most,
inline constexpr std::size_t kMostGroups = 16;
/// of about equally many records each; what is more by itself is a group by itself.
/// @param counts  of each code, 0 or more  @param bins  as many of them are bins; behind them the missing
/// value
/// @returns the group of each code
std::vector<std::uint32_t> groups_of(std::span<const double> counts, std::size_t bins);

}  // namespace muffle::evaluate
