#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results.hpp"

namespace muffle::report {

/// The share of rows whose value of one column is the most frequent one among the rows with their value of
/// another; a missing value is a value like any other. 1: the one follows from the other. Values that stand
/// in few rows follow from anything: none where the other has more than a twentieth as many values as rows.
std::optional<double> follows(const std::vector<double>& one, const std::vector<double>& from);

/// Pairs of columns of which one follows from the other in the real rows and not in the synthetic ones, in
/// words. @param pairs  of the first columns  @returns one sentence each of categories, of a number and a
/// column of few values, and of two numbers; empty: none
std::vector<std::string> lost_dependencies(const Rows& real, const Rows& samples,
                                           const std::vector<TableScores::Pair>& pairs);

}  // namespace muffle::report
