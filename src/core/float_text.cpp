#include "muffle/core/float_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace muffle {

std::string exact_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

namespace {

std::string rounded_text(double value, int digits, bool up) {
  const std::string exact = exact_text(value);
  if (!(value >= 1e-12 && value <= 1e9)) return exact;
  const std::string mantissa = exact.substr(0, exact.find('e'));
  const std::size_t first = mantissa.find_first_not_of("0.");
  if (std::count_if(mantissa.begin() + static_cast<std::ptrdiff_t>(first), mantissa.end(),
                    [](char c) { return c != '.'; }) <= digits)
    return exact;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(value)));
  // At most 10^22, and so exact; the product's rounding error is known exactly.
  const double scale = std::pow(10.0, std::max(0, places));
  const double product = value * scale, error = std::fma(value, scale, -product);
  double whole = up ? std::ceil(product) : std::floor(product);
  if (whole == product && up && error > 0) whole += 1;
  if (whole == product && !up && error < 0) whole -= 1;
  // To the nearest decimal of so many places: that is the whole number's own.
  const std::string decimal =
      std::to_string(static_cast<long long>(whole)) + "e-" + std::to_string(std::max(0, places));
  return exact_text(std::strtod(decimal.c_str(), nullptr));
}

}  // namespace

std::string rounded_up_text(double value, int digits) { return rounded_text(value, digits, true); }
std::string rounded_down_text(double value, int digits) { return rounded_text(value, digits, false); }

}  // namespace muffle
