#pragma once

#include <span>
#include <string>
#include <vector>

#include "muffle/schema/draft.hpp"

namespace muffle::schema {

// Answers of an interview become what is public about a column. Each returns what is wrong, for people, and
// then the column is as it was or to be thrown away; empty: nothing is.

/// "category label missing", "date %d.%m.%Y". @param before  columns that are done: a role is given once
/// @param missing_words  how a missing value is spelt in this file
std::string take_words(const std::string& line, DraftColumn& column, std::span<const DraftColumn> before,
                       const std::vector<std::string>& missing_words);
/// "0, 120", "<5, 90+", "2020-01-01, 2024-12-31".
std::string take_bounds(const std::string& line, DraftColumn& column);
/// "home, died".
std::string take_categories(const std::string& line, DraftColumn& column);

/// What is known of a column, in a line: "integer, 0 to 120, always there".
std::string known_text(const DraftColumn& column);
/// An answer that take_bounds() would take.
std::string bounds_example(const DraftColumn& column);

}  // namespace muffle::schema
