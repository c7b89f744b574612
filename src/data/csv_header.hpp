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
  std::vector<std::string> unknown;         ///< of the file alone
  std::size_t known = 0;                    ///< 0: perhaps the line is a record

  bool matches() const { return missing.empty() && twice.empty() && unknown.empty(); }
  /// "lacks 'a', has 'b' twice, has 2 that the schema does not know": public.
  std::string differences() const;
  /// "'a', 'b'"
  static std::string listed(const std::vector<std::string>& names);
};

/// @param needed  whether a column of the schema must be in the file.
HeaderMatch match_header(std::span<const std::string_view> names, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed);

}  // namespace muffle::data
