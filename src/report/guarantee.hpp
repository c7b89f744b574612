#pragma once

#include <string>
#include <vector>

#include "html.hpp"
#include "public_material.hpp"

// What a release promises, in words of a summary. Public.
namespace muffle::report {

/// Of a private release: a row for each question that somebody who is asked for consent would ask.
TextTable promises(const PublicMaterial& m);
/// Who saw records and exact sums, in a sentence or more.
std::string who_saw_what(const release::Artifact& a);
/// What its ledger has, and what is left of the budget. "not looked at: no ledger was named".
std::string spent_in_all(const PublicMaterial& m);
/// How much the guarantee itself allows: adds to what a summary calls good and bad.
void judge_epsilon(const PublicMaterial& m, std::vector<std::string>& good, std::vector<std::string>& bad);

}  // namespace muffle::report
