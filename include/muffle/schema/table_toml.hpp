#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// What a draft (`muffle schema init`) has where a person has to decide: no schema with it can be read.
inline constexpr std::string_view kFillIn = "FILL-IN";

/// Whether a file holds records: a schema may not read it.
using PrivateFile = std::function<bool(const std::filesystem::path& file)>;

/// The files that a schema names, such as lists of combinations.
struct PublicFiles {
  std::optional<std::filesystem::path> folder = {};  ///< where they lie; none: no other file is opened
  PrivateFile private_file = {};                     ///< empty: none is known to be
};

/// Reads a schema of a table, TOML (docs/reference/schema.md). The result has no problems().
/// @throws ConfigError  with all problems found, each with its line;  IoError.
Table read_table_toml(const std::filesystem::path& path, PrivateFile is_private = {});
/// The same of a text. @param name  of the file, for messages
Table parse_table_toml(std::string_view text, const std::string& name, PublicFiles files = {});

/// A bound as a text: as parse_number() (table_text.hpp) has it, and seconds of a datetime or a time may be
/// left out or have a fraction.
std::optional<double> parse_bound(ColumnType type, std::string_view text);

}  // namespace muffle::schema
