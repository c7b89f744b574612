#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// What in whole files does not fit a table's schema. Never content.
/// Privacy: places and counts are private; they are for the terminal of whoever holds the files.
struct TableCheck {
  std::uint64_t rows = 0;
  std::uint64_t misfits = 0;        ///< headers, rows, fields and broken constraints; 0: all fits
  std::vector<std::string> places;  ///< "row 7 of 'FILE', column 'age': ...": the first of them
  std::vector<std::string> counts;  ///< "column 'age': 12 that ...": all, by column and reason
  std::vector<std::string> doubts;  ///< what fits, and may be a mistake all the same
};

/// Reads files to their ends: NumPy's by their names (.npz, .npy), all others as CSV. A row that is no CSV
/// ends the look at its file. Constraints are looked at in rows whose fields all fit; of those that a row
/// breaks the first is named.
/// @param spec  schema (with a table), separator, header and comment  @param files  as they are opened
/// @param most_places  so many places are kept
/// @throws IoError;  DataError: a file that is no compressed file, or no arrays of the schema's columns.
TableCheck check_table(const DataSpec& spec, const std::vector<std::string>& files, std::size_t most_places);

}  // namespace muffle::data
