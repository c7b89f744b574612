#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// What whole files hold of one kind of thing: the numbers of a table's column or of plain records, or the
/// labels.
struct HeldValues {
  std::string name;            ///< "column 'age'", "numbers", "labels"
  std::string bounds;          ///< of numbers: the schema's, "0 to 120"
  std::string least, largest;  ///< of numbers, outside the bounds too; empty: there is none
  std::vector<std::pair<std::string, std::uint64_t>>
      counts;  ///< of labels: of each class, then of what is none
};

/// What in whole files does not fit schema and settings, and what they hold. Of a field that does not fit, or
/// of a line that may be a record, never content.
/// Privacy: all of it is private; it is for the terminal of whoever holds the files.
struct RecordCheck {
  std::string files;  ///< as the settings name them
  bool read = false;  ///< some file could be looked into; false: nothing is known of records and values
  std::uint64_t records = 0;
  std::uint64_t misfits = 0;        ///< files, headers, rows, fields and broken constraints; 0: all fits
  bool refused = false;             ///< some of it ends a job under OnError::kClamp, too
  std::vector<std::string> places;  ///< "row 7 of 'FILE', column 'age': ...": the first of them
  std::vector<std::string> counts;  ///< "column 'age': 12 fields are ...": all, by column and reason
  std::vector<std::string> doubts;  ///< what may be a mistake, whether it fits or not
  std::vector<HeldValues> holds;
};

/// Reads all files of a rank to their ends. A row that is no CSV ends the look at its file. Constraints are
/// looked at in rows whose fields all fit; of those that a row breaks the first is named.
/// @param most_places  so many places are kept. @throws IoError  a file is not there, or cannot be read.
RecordCheck check_records(const DataSpec& spec, int rank, std::size_t most_places);

}  // namespace muffle::data
