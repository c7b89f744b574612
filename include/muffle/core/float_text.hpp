#pragma once

#include <string>

namespace muffle {

/// Shortest decimal text that reads back as the same double ("0.1", "1e-05"); "nan", "inf" for those.
std::string exact_text(double value);

/// So many significant digits of a number from 1e-12 to 1e9, fewer if they are zeros: what is read back is
/// not below it, or not above it. exact_text() where that is short enough, and for other numbers.
std::string rounded_up_text(double value, int digits);
std::string rounded_down_text(double value, int digits);

}  // namespace muffle
