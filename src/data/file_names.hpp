#pragma once

#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// The files that spec.features names on this rank: a file of that very name, or all that match it as a
/// pattern (glob(7)), in the order of their bytes.
/// @throws DataError  none matches a pattern; or, of a set's parts (part_pattern()), some are missing.
std::vector<std::string> files_of(const DataSpec& spec, int rank);

/// "NAME-00003-of-00008": the name of one of the parts in which records are written. Numbers from 0.
std::string part_name(const std::string& name, std::uint64_t part, std::uint64_t parts);
/// Of a part's name, the pattern of all its set's; any other name as it is.
std::string part_pattern(const std::string& name);

}  // namespace muffle::data
