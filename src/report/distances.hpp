#pragma once

#include <vector>

#include "rows.hpp"

namespace muffle::report {

/// Ascending, without the missing ones.
std::vector<double> values_in_order(const std::vector<double>& values);

/// How far a column of one table lies from the same of another.
struct Shape {
  double distance = 0.0;     ///< of numbers the largest difference of the distribution functions, without
                             ///< missing values; of categories, missing ones among them, total variation
  double wasserstein = 0.0;  ///< of numbers: the functions' area apart, over the bounds
};
std::vector<Shape> shapes_of(const Rows& one, const Rows& other);
/// How far columns lie from what a schema says before any record: numbers even over their bounds, categories
/// equally often, a missing value one of them. The mean of Shape::distance over all columns.
double mean_distance_from_even(const Rows& rows);
/// Of numbers: the largest difference of the distribution functions just below these values; NaN is missing.
double distance_at(const std::vector<double>& one, const std::vector<double>& other,
                   const std::vector<double>& cuts);

}  // namespace muffle::report
