#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// What a draft (`muffle schema init`) has where a person has to decide: no schema with it can be read.
inline constexpr std::string_view kFillIn = "FILL-IN";

/// Reads a schema of a table, TOML (docs/reference/schema.md). The result has no problems().
/// @throws ConfigError  with all problems found, each with its line;  IoError.
Table read_table_toml(const std::filesystem::path& path);
/// The same of a text. @param name  of the file, for messages  @param folder  where the files lie that it
/// names; none: no other file is opened
Table parse_table_toml(std::string_view text, const std::string& name,
                       std::optional<std::filesystem::path> folder = std::nullopt);

/// A bound as a text: as parse_number() (table_text.hpp) has it, and seconds of a datetime or a time may be
/// left out or have a fraction.
std::optional<double> parse_bound(ColumnType type, std::string_view text);

}  // namespace muffle::schema
