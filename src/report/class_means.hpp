#pragma once

#include <string>
#include <vector>

#include "public_material.hpp"

namespace muffle::report {

/// How two classes' released means lie apart, by the map that tells them apart best. Public.
struct ClassGap {
  std::size_t one = 0, other = 0;  ///< classes
  std::string map;
  double times = 0.0;  ///< their distance, where noise alone would make it 1
  double surplus =
      0.0;  ///< its square less what noise alone makes of it on average, in standard deviations of that
};
/// Of every two of the first classes, by the maps that release a mean of each class. Empty: there is none, or
/// nobody knows how many records there are.
std::vector<ClassGap> class_gaps(const PublicMaterial& m);

/// What they say of records that are no table, in words: adds to what a summary calls good and bad.
void judge_classes_by_noise(const PublicMaterial& m, std::vector<std::string>& good,
                            std::vector<std::string>& bad);

}  // namespace muffle::report
