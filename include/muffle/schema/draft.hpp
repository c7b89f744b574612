#pragma once

#include <functional>
#include <iosfwd>
#include <map>
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
  bool guessed = false;          ///< type and notation are a guess, from a look at private records
  std::string note;              ///< for people, a comment above the column
  std::optional<double> lo, hi;  ///< of numbers, dates and times
  std::optional<double> step;    ///< of numbers, if it is not their last place
  std::optional<int> decimals;   ///< of decimals
  Notation notation;             ///< a text that is kFillIn is open
  std::vector<DraftColumn>
      choices;  ///< columns that nothing tells apart, this one among them; empty: it is this
  std::optional<std::vector<std::string>> values;   ///< of categories; of a boolean the false one first
  std::optional<std::vector<std::string>> missing;  ///< spellings of absent values; empty: none is absent

  /// Whether a key of the column is still open.
  bool is_open() const;
};

/// The schema, TOML. @param comment  its first lines, without '#'
std::string draft_toml(std::span<const DraftColumn> columns, std::string_view comment);

/// What a person has answered: by column, in the order of the questions; "": about the whole file.
using Answers = std::map<std::string, std::vector<std::string>>;
/// Called after each answer, and after one is taken back, with all answers about that column.
using KeepAnswers = std::function<void(const std::string& column, const std::vector<std::string>& answers)>;

/// Asks a person on a terminal, column by column: what it is, and what of its bounds or categories is open.
/// An empty answer takes what is in brackets, or leaves open what has none. A wrong answer is asked for
/// again; "back" takes the last one back, "help" says more.
/// @param known  earlier answers, which are not asked for again
/// @returns false: the person said "quit", or `in` has ended; columns from there on are as they were.
bool ask_for_columns(std::span<DraftColumn> columns, std::istream& in, std::ostream& out, Answers known = {},
                     const KeepAnswers& keep = {});

/// Texts with commas between them. In quotes a text may hold commas and blanks at its ends, or be empty; a
/// quote in it is doubled. None: a quote is not closed, or text stands beside one, or a text is empty.
std::optional<std::vector<std::string>> split_list(std::string_view line);

}  // namespace muffle::schema
