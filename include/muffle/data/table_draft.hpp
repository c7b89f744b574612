#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muffle/data/source.hpp"
#include "muffle/schema/draft.hpp"

namespace muffle::data {

/// How the note of a column begins whose fields look like dates or numbers, and are none that muffle reads.
inline constexpr std::string_view kUnknownNotation =
    "dates, times or numbers in a notation that muffle does not know";

/// Likewise of a column that mostly holds numbers, dates or times, and some texts.
inline constexpr std::string_view kTextsAmongNumbers = "a few texts stand among its numbers";

/// Columns for a draft of a schema. Their names are from the header of the CSV file `file.features` (without
/// one they are "column-1", ...). Of columns that the sample has, by name, type, bounds (rounded outwards),
/// categories and missing values are from its records; what looks like an identifier or free text there
/// becomes "ignore". Of the others only the types are guessed, from all records of the file.
/// @param sample  null, or a CSV file that is public by its owner's word
/// @param named  the headers are known to hold names; else a first line that may be a record is refused: with
/// a number, a date or a missing value in it, with a field that a later row has in the same column, or where
/// nothing tells it from the rows below, as all columns hold text (of those that the sample lacks)
/// @param passed  gets a line about columns without a name, which are left out; empty: there are none
/// @throws DataError  no header, a name that is empty or there twice, rows that are none;  IoError.
/// Privacy: the guesses are a look at private records that nothing covers; of the records only flags are
/// kept. The draft stays with whoever holds the file until a person has checked it.
std::vector<schema::DraftColumn> draft_columns(const DataSpec& file, const DataSpec* sample, bool named,
                                               std::string* passed = nullptr);

}  // namespace muffle::data
