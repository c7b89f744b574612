#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

// With all its digits a score of real records tells how many there are, and tells them apart from others.
namespace muffle::evaluate {

/// Of shares, as the tables say them.
inline double four_decimals(double share) { return std::round(share * 1e4) / 1e4; }

/// Three significant digits, of what knows no bounds.
inline double three_digits(double number) { return std::stod(fmt::format("{:.2e}", number)); }

}  // namespace muffle::evaluate
