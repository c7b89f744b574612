#pragma once

#include <string>
#include <string_view>

#include "muffle/schema/table.hpp"

namespace muffle::data {

/// Whose a row is, as people are told apart: the field's text, without blanks around it; in a column of
/// numbers the number, however it is spelt ("+7", "07", "7.0", "70e-1"), to its last digit. Zero is one
/// person in any column, with a sign or without. Empty: missing.
std::string person_text(const schema::Column& column, std::string_view field);
/// The same of a number, as arrays have it.
std::string person_text(const schema::Column& column, double field);

}  // namespace muffle::data
