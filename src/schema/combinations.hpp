// Which values of two columns go together, as files and lists of a schema say it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// All lists of a table allow no more combinations: with its schema they have to fit into a message between
/// institutions.
inline constexpr std::size_t kMostAllowed = 200'000;

/// A value of each of two columns, as they are written, and in which line.
struct NamedPair {
  std::string first, second;
  std::size_t line = 0;
};

/// Pairs of a file, or of the schema itself.
struct NamedPairs {
  std::string place;  ///< for messages, before a line's number: "'icd_by_ward.csv' line"
  std::vector<NamedPair> pairs;
};

/// Reads a public CSV file whose first line names both columns; others are passed over. Fields are separated
/// by what separates these names: a comma, a semicolon or a tab.
/// @throws ConfigError  it is no such file, or a long one;  IoError.
NamedPairs read_combinations(const std::filesystem::path& path, const std::string& first,
                             const std::string& second);

/// Constraint::allowed, of two columns of categories.
/// @throws ConfigError  naming the first few pairs that hold something else than values of theirs.
std::vector<CodePair> allowed_codes(const NamedPairs& named, const Column& first, const Column& second);

}  // namespace muffle::schema
