#pragma once

#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::evaluate {

/// How far one number's values lie from another table's, without bins; missing values are left out.
struct RawDistance {
  std::string column;        ///< its name
  double ks = 0.0;           ///< Kolmogorov and Smirnov: the largest difference of the distribution functions
  double wasserstein = 0.0;  ///< their area apart, over the column's bounds: 0 .. 1
  /// By how much the second table's mean is larger, over the standard deviation of the first one's values; of
  /// a constant, over the bounds. A tail that no distance of distribution functions sees moves it.
  double mean_error = 0.0;
};

/// Of every number, date and time of a table, derived ones too. Both files are read once for every 16 of
/// them, which are in memory at a time. A table that has no value of a column is as far as can be, unless
/// both have none (and its mean is not compared).
/// @throws DataError, IoError.
std::vector<RawDistance> raw_distances(const data::DataSpec& one, const data::DataSpec& other,
                                       const Heartbeat& heartbeat);

/// Of two samples, which are sorted; @param width  of the bounds, above 0
RawDistance raw_distance(std::vector<double> one, std::vector<double> other, double width);

}  // namespace muffle::evaluate
