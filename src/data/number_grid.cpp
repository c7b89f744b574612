#include "number_grid.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace muffle::data {
namespace {

constexpr std::size_t kMostCodes = 50;
/// Codes leave room for so many times as many.
constexpr double kRoomBetweenCodes = 1000;
/// Decimals whose common step is looked for: places, and how many different ones tell it (whole ones always
/// do): so many that it is no chance. Of values on a grid the 1 / k-th part is on one k times as coarse.
constexpr int kMostPlaces = 6;
constexpr std::size_t kLeastForAStep = 8;
constexpr double kNoChance = 1e5;
/// Whole numbers may all be even by chance, and hardly all be multiples of so much.
constexpr double kLeastOfWholes = 5;
constexpr std::int64_t kMillionths = 1'000'000;
/// Places that a draft may have.
constexpr int kMostWritten = 15;

}  // namespace

void NumberGrid::look_at(double value, std::string_view field) {
  ++count_;
  lo_ = std::min(lo_, value);
  hi_ = std::max(hi_, value);
  if (different_.size() <= kMostCodes) different_.insert(value);
  const double year = std::floor(value / 100), month = value - 100 * year;
  months_ = months_ && field.size() == 6 && year >= 1900 && year < 2200 && month >= 1 && month <= 12;
  const std::size_t e = std::min(field.find_first_of("eE"), field.size()), point = field.find('.');
  int exponent = 0;
  if (e < field.size()) {
    exponents_ = true;
    const std::size_t digits = e + (field.substr(e + 1).starts_with('+') ? 2 : 1);
    std::from_chars(field.data() + std::min(digits, field.size()), field.data() + field.size(), exponent);
  }
  const int behind = point < e ? static_cast<int>(std::min<std::size_t>(e - point - 1, kMostWritten)) : 0;
  places_ = std::clamp(behind - std::clamp(exponent, -kMostWritten, kMostWritten), places_, kMostWritten);
  const double units = std::round(std::abs(value) * kMillionths);
  common_ = units < 0x1p53 ? std::gcd(common_, static_cast<std::int64_t>(units)) : 1;
}

bool NumberGrid::is_whole() const {
  return places_ == 0 || (places_ <= kMostPlaces && common_ % kMillionths == 0);
}

bool NumberGrid::are_codes() const {
  const std::size_t n = different_.size();
  const double step = std::max(1.0, static_cast<double>(common_) / kMillionths);
  return n > 1 && n <= kMostCodes && 2 * count_ >= 3 * n && is_whole() && !exponents_ &&
         (hi_ - lo_) / step >= kRoomBetweenCodes * static_cast<double>(n);
}

std::optional<double> NumberGrid::step() const {
  if (places_ > kMostPlaces || exponents_) return std::nullopt;
  const double step = static_cast<double>(common_) / kMillionths;
  const double coarser = step / (is_whole() ? 1.0 : std::pow(10.0, -places_));
  const std::size_t n = different_.size();
  const bool told = n >= kLeastForAStep && std::pow(coarser, static_cast<double>(n)) >= kNoChance;
  if (is_whole()) {
    if (told && step >= kLeastOfWholes) return step;
    return places_ == 0 ? std::nullopt : std::optional(1.0);
  }
  return told && coarser > 1.5 ? std::optional(step) : std::nullopt;
}

bool in_natural_order(const std::string& a, const std::string& b) {
  const auto end = [](const std::string& text) {
    return text.starts_with('<') || text.starts_with("\u2264")   ? -1
           : text.starts_with('>') || text.starts_with("\u2265") ? 1
                                                                 : 0;
  };
  if (end(a) != end(b)) return end(a) < end(b);
  const auto digits = [](const std::string& text, std::size_t at) {
    return std::min(text.find_first_not_of("0123456789", at), text.size()) - at;
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    std::size_t m = digits(a, i), n = digits(b, j);
    if (m == 0 || n == 0) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
      continue;
    }
    for (; m > 1 && a[i] == '0'; --m) ++i;
    for (; n > 1 && b[j] == '0'; --n) ++j;
    if (m != n) return m < n;
    if (const int order = a.compare(i, m, b, j, n); order != 0) return order < 0;
    i += m, j += n;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;
}

}  // namespace muffle::data
