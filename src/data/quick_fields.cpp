#include "quick_fields.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace muffle::data {
namespace {

constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 14;
/// A decimal of so many digits is exact in 64 bits, and its quotients in double are within far less than half
/// a step of a grid of so many values.
constexpr int kMostDigits = 15;
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 40;

template <class T>
std::uint64_t load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// All bytes of a text of 1 to 8: equal texts of one length, and no others, give equal numbers.
std::uint64_t bytes_of(const char* text, std::size_t size) {
  if (size >= 4) return load<std::uint32_t>(text) | load<std::uint32_t>(text + size - 4) << 32;
  return load<std::uint8_t>(text) | load<std::uint8_t>(text + size / 2) << 8 |
         load<std::uint8_t>(text + size - 1) << 16;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// v 10^decimals where that is a whole number, as decimals in a schema are.
std::optional<std::int64_t> units_of(double v, int decimals) {
  const double scale = std::pow(10.0, decimals), units = std::round(v * scale);
  if (!(std::fabs(units) < 0x1p53) || units / scale != v) return std::nullopt;
  return static_cast<std::int64_t>(units);
}

/// Days since 1970-01-01 of a date YYYY-MM-DD; none: it is none.
std::optional<std::int64_t> days_of(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  std::int64_t numbers[3] = {};
  bool good = true;
  for (std::size_t i = 0, part = 0; i < text.size(); ++i) {
    if (i == 4 || i == 7) {
      ++part;
      continue;
    }
    good &= is_digit(text[i]);
    numbers[part] = 10 * numbers[part] + (text[i] - '0');
  }
  const auto [year, month, day] = numbers;
  if (!good || month < 1 || month > 12 || day < 1) return std::nullopt;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr std::int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31},
                         kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  if (day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return std::nullopt;
  // Leap days before this year, year 0 among them.
  const std::int64_t leaps = (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
  constexpr std::int64_t kEpoch = 719528;  // days from year 0 to 1970
  return 365 * year + leaps + kBefore[month - 1] + (month > 2 && leap ? 1 : 0) + day - 1 - kEpoch;
}

}  // namespace

QuickFields::Key::Key(std::string_view text) : size(static_cast<std::uint32_t>(text.size())) {
  const char* const data = text.data();
  if (text.size() <= 8) {
    first = bytes_of(data, text.size());
  } else {
    first = load<std::uint64_t>(data);
    last = load<std::uint64_t>(data + text.size() - 8);
  }
}

QuickFields::QuickFields(const schema::ColumnText& text) : codes_(text.column().codes()) {
  add_spellings(text);
  if (text.column().is_number()) add_grid(text.column());
}

void QuickFields::add_spellings(const schema::ColumnText& text) {
  const schema::Column& column = text.column();
  std::vector<std::string_view> all(column.spellings.begin(), column.spellings.end());
  for (const schema::Category& value : column.values) {
    all.push_back(value.name);
    all.insert(all.end(), value.aliases.begin(), value.aliases.end());
  }
  std::erase_if(all, [](std::string_view s) {
    return s.empty() || s.size() > kMostBytes || is_blank(s.front()) || is_blank(s.back());
  });
  if (all.empty()) return;
  spellings_.resize(std::bit_ceil(4 * all.size()));
  for (const std::string_view spelling : all) {
    const schema::FieldReading reading = text.read(spelling);
    if (reading.misfit != schema::Misfit::kNone || !reading.cell || find(spelling) != nullptr) continue;
    const Key key(spelling);
    std::size_t place = key.hash() & (spellings_.size() - 1);
    while (spellings_[place].key.size != kNone) place = (place + 1) & (spellings_.size() - 1);
    spellings_[place] = {key, reading.cell->code, schema::position(*reading.cell, codes_)};
  }
}

const QuickFields::Spelling* QuickFields::find(std::string_view field) const {
  const Key key(field);
  std::size_t place = key.hash() & (spellings_.size() - 1);
  for (; spellings_[place].key.size != kNone; place = (place + 1) & (spellings_.size() - 1)) {
    if (spellings_[place].key == key) return &spellings_[place];
  }
  return nullptr;
}

/// No grid: it has values that are no plain decimals, or times of day.
void QuickFields::add_grid(const schema::Column& column) {
  if (column.type == schema::ColumnType::kDatetime || column.type == schema::ColumnType::kTime) return;
  if (!column.notation.is_plain()) return;
  const auto lo = units_of(column.lo, column.decimals), step = units_of(column.step, column.decimals);
  if (!lo || !step || *step < 1) return;
  schema::Grid grid(column);
  if (grid.count() > kMostValues) return;
  lo_ = *lo;
  step_ = *step;
  decimals_ = column.decimals;
  date_ = column.type == schema::ColumnType::kDate;
  for (std::uint64_t i = 0; i < std::min(grid.count(), kMostPositions); ++i)
    positions_.push_back(schema::position(grid.cell(i), codes_));
  grid_.emplace(std::move(grid));
}

/// @param units  of 10^-decimals
float QuickFields::at(std::int64_t units) const {
  const std::int64_t above = units - lo_;
  if (above < 0) return kUnknown;
  const auto distance = static_cast<std::uint64_t>(above), step = static_cast<std::uint64_t>(step_);
  if (step != 1 && distance % step != 0) return kUnknown;
  const std::uint64_t index = step != 1 ? distance / step : distance;
  if (index < positions_.size()) return positions_[index];
  return index < grid_->count() ? schema::position(grid_->cell(index), codes_) : kUnknown;
}

/// [-]digits[.digits], at most kMostDigits and no more behind the point than the column has; or a date.
float QuickFields::number(std::string_view field) const {
  if (date_) {
    const auto days = days_of(field);
    return days ? at(*days) : kUnknown;
  }
  const bool negative = field.front() == '-';
  if (negative) field.remove_prefix(1);
  std::int64_t units = 0;
  std::size_t i = 0;
  for (; i < field.size() && is_digit(field[i]); ++i) units = 10 * units + (field[i] - '0');
  int behind = 0;
  std::size_t digits = i;
  if (i == 0) return kUnknown;
  if (i < field.size()) {
    if (field[i] != '.' || i + 1 == field.size()) return kUnknown;
    for (++i; i < field.size() && is_digit(field[i]); ++i, ++behind, ++digits)
      units = 10 * units + (field[i] - '0');
  }
  if (i < field.size() || behind > decimals_ ||
      digits + static_cast<std::size_t>(decimals_ - behind) > kMostDigits)
    return kUnknown;
  for (; behind < decimals_; ++behind) units *= 10;
  return at(negative ? -units : units);
}

}  // namespace muffle::data
