#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mark_guess.hpp"
#include "muffle/schema/draft.hpp"
#include "number_grid.hpp"
#include "time_guess.hpp"

namespace muffle::data {

/// The field says that there is no value, as almost everywhere.
bool is_missing_word(std::string_view field);

/// What a column's fields are, in one notation.
struct Reading {
  schema::ColumnType type = schema::ColumnType::kCategory;
  schema::Notation notation = {};
  double lo = 0.0, hi = 0.0;  ///< of numbers, dates and times
  int places = 0;             ///< behind the decimal mark
  std::optional<double> step = std::nullopt;
  std::vector<std::string> values =
      {};                 ///< of a boolean whose fields are all in one spelling: "False", "True"
  std::string note = {};  ///< for people: what samples will not keep
};

/// Which marks numbers have all over a file: what one column leaves open, another one may tell.
struct FileMarks {
  bool comma = false, point = false;  ///< are decimal marks for certain
};

/// Which types and notations fit all fields of a column: for drafts of schemas.
class ColumnGuess {
 public:
  /// Missing values say nothing.
  void look_at(std::string_view field);
  /// Texts among numbers, dates or times that are probably missing values: "*", "unknown", "#DIV/0!". Of the
  /// file's rows: for columns of a public sample. Empty: there are none, or the column holds texts.
  const std::set<std::string, std::less<>>& words() const { return holds_numbers() ? words_ : kNoWords; }
  bool seen() const { return seen_; }
  /// A record may hold it, and hardly a header.
  static bool is_value(std::string_view field);

  /// Adds what this column tells for certain.
  void tell(FileMarks& marks) const;
  /// One, or several that nothing tells apart, the likelier one first.
  std::vector<Reading> readings(const FileMarks& marks) const;
  /// Numbers that look like a category's codes.
  bool are_codes() const { return holds_numbers() && decimal_ && grid_.are_codes(); }
  /// Codes of fields that look like dates or numbers and are none that muffle knows: "dd.dd.dddd". Empty:
  /// there are none. Of the private file's form: for outputs that stay with its owner.
  std::string unknown_shape() const;

 private:
  static inline const std::set<std::string, std::less<>> kNoWords;

  /// Its fields are no words, or a few of them are, among many different numbers.
  bool holds_numbers() const;
  std::vector<Reading> marked(const FileMarks& marks) const;

  NumberGrid grid_;
  TimeGuess times_;
  MarkGuess marks_;
  bool seen_ = false, integer_ = true, decimal_ = true, boolean_ = true, datetime_ = true;
  double lo_ = INFINITY, hi_ = -INFINITY;            ///< of datetimes in muffle's own way
  std::array<bool, 3> spellings_{true, true, true};  ///< of a boolean: those that fit
  std::set<std::string, std::less<>> different_, words_, plain_;
  bool plus_ = false;  ///< some number has a plus sign
  /// Fields, those that are words, and those that look like dates or numbers.
  std::uint64_t count_ = 0, word_count_ = 0, dates_ = 0, numbers_ = 0;
  std::string date_form_, number_form_;  ///< of the first that are none which muffle reads
};

}  // namespace muffle::data
