#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results.hpp"

// Verdicts on what was computed from real rows: each adds to what a summary calls good and bad. PRIVATE.
namespace muffle::report {

void judge_scores(const TableScores& s, std::vector<std::string>& good, std::vector<std::string>& bad);
/// By the attack that finds most. @param d  none: nothing is held out
/// @param most  the area that the guarantee lets the best of all attackers reach; none: there is no guarantee
void judge_disclosure(const std::optional<Disclosure>& d, std::optional<double> most,
                      std::vector<std::string>& good, std::vector<std::string>& bad);

/// Of images and vectors, by the classifier of metrics.json that learns most from them. @param metrics  null:
/// there are none
void judge_classifiers(const nlohmann::json& metrics, std::size_t classes, std::vector<std::string>& good,
                       std::vector<std::string>& bad);
/// Of tables with a label, by the mean over the classifiers of metrics.json, and by those that learn nothing.
void judge_table_classifiers(const nlohmann::json& metrics, std::vector<std::string>& good,
                             std::vector<std::string>& bad);

}  // namespace muffle::report
