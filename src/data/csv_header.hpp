#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csv_rows.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::data {

/// The names in a file's header beside those of a schema.
struct HeaderMatch {
  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

  std::vector<std::size_t> places;   ///< of each of the file's columns: the schema's, or kUnknown
  std::vector<std::size_t> unnamed;  ///< places of columns that is_unnamed(), from 1: they are read past
  std::vector<std::string> missing, twice;  ///< of the schema: public
  std::vector<std::size_t> unknown;         ///< places of names that are of the file alone, from 1
  std::vector<std::string> other_case;      ///< of `missing`: the header has it but for capital letters
  std::size_t known = 0;

  bool matches() const { return missing.empty() && twice.empty() && unknown.empty(); }
  /// No more names than are missing are known: perhaps the line is a record, of which nothing may be told,
  /// nor which of its fields is a column's name.
  bool may_be_record() const { return known + 2 * other_case.size() <= missing.size(); }
  /// "lacks 'a', has 'b' twice, has 2 names that the schema does not know": public, of what is no record.
  std::string differences() const;
  /// "name 3", "names 3, 5" of the unknown ones: the names themselves may be fields.
  std::string unknown_places() const;
  /// "'a', 'b'"
  static std::string listed(const std::vector<std::string>& names);
};

/// " (";" stands in it)" of a line that was taken for fewer fields than there are, if another separator is in
/// one of them. For whoever holds the file.
std::string other_separator(std::span<const std::string_view> fields, char separator);

/// The column has no name, or the one that pandas gives it then, and has only such before or only such behind
/// it: the rows' numbers that pandas and R write, or what a separator at a line's end makes.
bool is_unnamed(std::span<const std::string_view> names, std::size_t column);

/// What is read past, for people: "column 1 of 'FILE' has no name, ..."; empty: nothing. @param columns  from
/// 1
std::string unnamed_text(const std::vector<std::size_t>& columns, const std::string& file);

/// How many of a row's fields are the file's columns; none: it has too few or too many. A separator at the
/// end of the line, of the header or of the row, makes an empty field, which does not count.
/// @param unnamed_end  the last column has no name
std::optional<std::size_t> fields_that_count(std::span<const std::string_view> fields, std::size_t columns,
                                             bool unnamed_end);

/// Each row begins with a name of its own, and the header has none for that: as R's write.table writes it.
/// The first rows tell: all are one field wider than the header, and each begins with another field. @param
/// columns of the header
bool rows_have_names(const std::string& path, const CsvDialect& dialect, std::size_t columns);

/// Whether one of the next rows is a header of the schema: then lines stand above it. For the message of a
/// first line that is none.
bool header_is_below(CsvRows& rows, const schema::Table& table,
                     const std::function<bool(std::size_t)>& needed);

/// @param needed  whether a column of the schema must be in the file.
HeaderMatch match_header(std::span<const std::string_view> names, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed);

}  // namespace muffle::data
