// What to expect of noisy counts of pairs, before there are any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muffle/features/pairs.hpp"

namespace muffle::features {

/// FeatureMap::outlook() of such a map. @param names  of a record's numbers  @param noise  over the records
/// of a class
std::string outlook_of(const CountTables& all, const std::vector<std::string>& names, std::size_t classes,
                       double noise, double records);
/// FeatureMap::drowned().
std::vector<std::string> drowned_of(const CountTables& all, const std::vector<std::string>& names,
                                    double noise);

}  // namespace muffle::features
