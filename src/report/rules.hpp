#pragma once

#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::report {

/// What must hold in every synthetic row, in words. Public: of the schema.
/// Of each of Table::constraints: "'age' >= 18".
std::vector<std::string> rules_of(const schema::Table& table);
/// What holds because of how columns are made: "'stay' is the days from 'admitted' to 'discharged'".
std::vector<std::string> made_so(const schema::Table& table);

}  // namespace muffle::report
