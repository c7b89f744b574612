// Which values of two columns go together, as files and lists of a schema say it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// A value of each of two columns, as they are written, and where.
struct NamedPair {
  std::string first, second;
  std::string where;  ///< for messages: "'icd_by_ward.csv' line 3"
};

/// Reads a public CSV file whose first line names both columns; others are passed over. Fields are separated
/// by what separates these names: a comma, a semicolon or a tab.
/// @throws ConfigError  it is no such file;  IoError.
std::vector<NamedPair> read_combinations(const std::filesystem::path& path, const std::string& first,
                                         const std::string& second);

/// Constraint::allowed, of two columns of categories.
/// @throws ConfigError  naming the pairs that hold something else than values of theirs.
std::vector<CodePair> allowed_codes(const std::vector<NamedPair>& pairs, const Column& first,
                                    const Column& second);

}  // namespace muffle::schema
