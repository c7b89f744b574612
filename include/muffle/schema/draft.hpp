#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// A column of a schema that is being written (`muffle schema init`): what is public about it so far. What
/// nobody has said stands in the draft as kFillIn (table_toml.hpp), and no command runs with that.
struct DraftColumn {
  std::string name;
  ColumnType type = ColumnType::kCategory;
  ColumnRole role = ColumnRole::kFeature;
  bool guessed = false;                             ///< the type is a guess, from a look at private records
  std::string note;                                 ///< for people, a comment above the column
  std::optional<double> lo, hi;                     ///< of numbers, dates and times
  std::optional<double> step;                       ///< of decimals, if it is not their last place
  std::optional<int> decimals;                      ///< of decimals
  std::optional<std::vector<std::string>> values;   ///< of categories; of a boolean the false one first
  std::optional<std::vector<std::string>> missing;  ///< spellings of absent values; empty: none is absent

  /// Whether a key of the column is still open.
  bool is_open() const;
};

/// The schema, TOML. @param comment  its first lines, without '#'
std::string draft_toml(std::span<const DraftColumn> columns, std::string_view comment);

/// Asks a person on a terminal, column by column: for type (where something is open, or the column is
/// ignored) and role (an empty answer keeps what is there), and for what is open of bounds, categories and
/// spellings of missing values (an empty answer leaves them open). A wrong answer is asked for again. Returns
/// early at the end of `in`.
void ask_for_columns(std::span<DraftColumn> columns, std::istream& in, std::ostream& out);

}  // namespace muffle::schema
