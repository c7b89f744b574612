#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// Edges of `count` bins that hold equally many of the column's values, as nearly as can be: only bounds and
/// step of the column are looked at.
std::vector<double> equal_bins(const Column& column, std::size_t count);
/// Edges whose ratios are equal, from the bound lo > 0; of lo = 0 the first bin holds 0 alone. Bins without a
/// value are left out, so there may be fewer. Empty: lo is below 0.
std::vector<double> logarithmic_bins(const Column& column, std::size_t count);

/// Edges of the cells over which a release learns bins, where nobody wrote some: a public grid, by bounds and
/// step alone. Every value where there are at most 256; else the union of 128 equal parts, of parts that grow
/// by a tenth with the distance from 0, and of cells for lo, hi and 0 alone. Of dates and times 256 equal
/// parts.
std::vector<double> fine_bins(const Column& column);

}  // namespace muffle::schema
