#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// The files that spec.features names on this rank: a file of that very name, or all that match it as a
/// pattern (glob(7)), in the order of their bytes.
/// @throws DataError  none matches a pattern; or, of a set of parts (schema::part_pattern()), some are
/// missing.
std::vector<std::string> files_of(const DataSpec& spec, int rank);

/// Whether it is one of the files with records or labels that spec names, any rank's, by whatever path.
/// @throws IoError  a folder cannot be listed.
bool names_file(const DataSpec& spec, const std::filesystem::path& file);

}  // namespace muffle::data
