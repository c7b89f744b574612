#pragma once

#include <filesystem>

#include "muffle/release/noisy_tables.hpp"

namespace muffle::release {

/// Writes a release's tables for other programs (docs/reference/artifact-format.md): tables.json (columns and
/// their values, shapes, noise, guarantee), written last, and a CSV file for each table, a line a cell in
/// row-major order. The label is a column like any other, the first. Public: post-processing.
/// @throws ConfigError  the release holds no tables. @throws IoError.
void write_tables(const Artifact& artifact, const std::filesystem::path& folder);

}  // namespace muffle::release
