#pragma once

#include "muffle/data/source.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {

/// What a table's numbers, dates and times are like by their raw values, of at most 20,000 rows of each file,
/// evenly spread. Adds the tables of their means, deviations and quantiles (of what is no date or time), and
/// of rank correlations, the farthest first, whose mean difference is one more row of the first table of
/// `out`; and each number's distribution functions, unless m is private: they tell of records too finely.
void add_number_findings(const Subject& subject, const data::DataSpec& samples, const Fineness& fine,
                         Findings& out);

}  // namespace muffle::evaluate
