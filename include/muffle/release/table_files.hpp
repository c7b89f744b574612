#pragma once

#include <filesystem>
#include <string>

#include "muffle/release/noisy_tables.hpp"

namespace muffle::release {

/// Writes a release's tables for other programs (docs/reference/artifact-format.md): tables.json (columns and
/// their values, shapes, noise, guarantee) and then a CSV file for each table that it names, a line a cell in
/// row-major order. The label is a column like any other, the first. Of an earlier export all goes; other
/// files there are left alone. Under add/remove-one the files' times are the beginning of their day; the
/// folder's are the caller's to set. Public: post-processing.
/// @throws ConfigError  the release holds no tables; as require_place_for_tables. @throws IoError.
void write_tables(const Artifact& artifact, const std::filesystem::path& folder);

/// What write_tables() would replace must be of an earlier export, which names it in its tables.json.
/// @throws ConfigError  a file of another's has such a name. @throws IoError.
void require_place_for_tables(const std::filesystem::path& folder);

// The same tables in the layout that graphical-model tools read (mbi of Private-PGM:
// docs/how-to/python.md): a domain and a measurement of the marginal of some of its attributes for each
// table. Public. @throws ConfigError  the release holds no tables.

/// {attribute: how many values it has}, the label first, as mbi's Domain and Dataset.load take it.
std::string domain_text(const Artifact& artifact);
/// JSON: what tables.json says of the release and its columns; and `measurements`, each with `clique`,
/// `stddev` and `values`, row-major over the clique; and, of attributes that are counted in groups of their
/// values, `groups`: {attribute: the group of each value}.
std::string measurements_text(const Artifact& artifact);

}  // namespace muffle::release
