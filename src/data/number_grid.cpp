#include "number_grid.hpp"

#include <algorithm>
#include <numeric>

namespace muffle::data {
namespace {

constexpr std::size_t kMostCodes = 50;
/// Codes leave room for so many times as many.
constexpr double kRoomBetweenCodes = 1000;
/// Decimals whose common step is looked for: places, and how many of them tell it (whole ones always do).
constexpr int kMostPlaces = 6;
constexpr std::uint64_t kLeastForAStep = 8;
/// Whole numbers may all be even by chance, and hardly all be multiples of so much.
constexpr double kLeastOfWholes = 5;
constexpr std::int64_t kMillionths = 1'000'000;

}  // namespace

void NumberGrid::look_at(double value, std::string_view field) {
  ++count_;
  lo_ = std::min(lo_, value);
  hi_ = std::max(hi_, value);
  if (different_.size() <= kMostCodes) different_.insert(value);
  if (field.find_first_of("eE") != std::string_view::npos) {
    exponents_ = true;
    places_ = kMostPlaces + 1;
  }
  if (const std::size_t point = field.find('.'); point != std::string_view::npos)
    places_ = std::max(places_, static_cast<int>(std::min<std::size_t>(field.size() - point - 1, 15)));
  const double units = std::round(std::abs(value) * kMillionths);
  common_ = units < 0x1p53 ? std::gcd(common_, static_cast<std::int64_t>(units)) : 1;
}

bool NumberGrid::is_whole() const {
  return places_ == 0 || (places_ <= kMostPlaces && common_ % kMillionths == 0);
}

bool NumberGrid::are_codes() const {
  const std::size_t n = different_.size();
  const double step = std::max(1.0, static_cast<double>(common_) / kMillionths);
  return n > 1 && n <= kMostCodes && 2 * count_ >= 3 * n && is_whole() &&
         (hi_ - lo_) / step >= kRoomBetweenCodes * static_cast<double>(n);
}

std::optional<double> NumberGrid::step() const {
  if (places_ > kMostPlaces) return std::nullopt;
  const double step = static_cast<double>(common_) / kMillionths, place = std::pow(10.0, -places_);
  if (is_whole()) {
    if (step >= kLeastOfWholes && different_.size() >= kLeastForAStep) return step;
    return places_ == 0 ? std::nullopt : std::optional(1.0);
  }
  return count_ >= kLeastForAStep && step > 1.5 * place ? std::optional(step) : std::nullopt;
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
