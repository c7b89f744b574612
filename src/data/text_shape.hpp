#pragma once

#include <string>
#include <string_view>

namespace muffle::data {

/// What a field that muffle does not understand looks like: for notes in drafts of schemas.
struct TextShape {
  enum class Kind { kText, kNumber, kDate } kind = Kind::kText;
  std::string form;  ///< digits as d, letters as a, what is not ASCII as u: "dd.dd.dddd"; none without digits
};

/// Dates, times, quarters, weeks, months, durations; numbers with letters or marks around them; and whatever
/// has the digits of other scripts, which count as dates.
TextShape shape_of(std::string_view field);

}  // namespace muffle::data
