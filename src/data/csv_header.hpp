#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::data {

/// The names in a file's header beside those of a schema.
struct HeaderMatch {
  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

  std::vector<std::size_t> places;          ///< of each of the file's columns: the schema's, or kUnknown
  std::vector<std::string> missing, twice;  ///< of the schema: public
  std::vector<std::size_t> unknown;         ///< places of names that are of the file alone, from 1
  std::size_t known = 0;

  bool matches() const { return missing.empty() && twice.empty() && unknown.empty(); }
  /// No more names than are missing are known: perhaps the line is a record, of which nothing may be told,
  /// nor which of its fields is a column's name.
  bool may_be_record() const { return known <= missing.size(); }
  /// "lacks 'a', has 'b' twice, has 2 that the schema does not know": public, of what is no record.
  std::string differences() const;
  /// "name 3", "names 3, 5" of the unknown ones: the names themselves may be fields.
  std::string unknown_places() const;
  /// "'a', 'b'"
  static std::string listed(const std::vector<std::string>& names);
};

/// " (";" stands in it)" of a line that was taken for fewer fields than there are, if another separator is in
/// one of them. For whoever holds the file.
std::string other_separator(std::span<const std::string_view> fields, char separator);

/// @param needed  whether a column of the schema must be in the file.
HeaderMatch match_header(std::span<const std::string_view> names, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed);

}  // namespace muffle::data
