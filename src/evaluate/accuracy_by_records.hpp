#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muffle/evaluate/evaluate.hpp"

// Accuracy by the number of synthetic records that classifiers are trained on (evaluate.train_sizes).
namespace muffle::evaluate {

/// The sizes, ascending, each once, without those above `there`, of which a note is made (and logged).
std::vector<std::size_t> sizes_within(std::vector<std::size_t> sizes, std::size_t there,
                                      std::vector<std::string>& notes);

/// As a table and a curve; in metrics.json UNDER.NAME.accuracy_by_records. Nothing, where nobody asked.
/// @param names  of the classifiers, in the accuracies' order
void add_accuracies(const char* under, const std::vector<std::string>& names,
                    const std::vector<AccuraciesOf>& of_sizes, Findings& out);

}  // namespace muffle::evaluate
