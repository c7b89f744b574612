#include "public_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "muffle/data/table_draft.hpp"
#include "muffle/schema/table_text.hpp"
#include "number_grid.hpp"

namespace muffle::data {
namespace {

using schema::ColumnType;
using schema::DraftColumn;

/// A public sample with more categories in a column holds identifiers or free text.
constexpr std::size_t kMostListed = 200;
/// Significant digits of decimals in a draft.
constexpr int kDigitsKept = 7, kPlacesKept = 3;

void leave_out(DraftColumn& c, std::string why) {
  c.type = ColumnType::kIgnore;
  c.note = std::move(why) + ". If it says whose a row is: type = \"category\", role = \"person\"";
}

/// 1, 2 or 5 times a power of ten, of which the span holds 10 to 25.
double round_unit(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span)) - 1);
  const double tenths = span / power;  // 10 to 100
  return tenths <= 20 ? power : tenths <= 50 ? 2 * power : 5 * power;
}

/// Bounds of a public column, rounded outwards.
void bound_numbers(const Reading& r, DraftColumn& c) {
  const double largest = std::max(std::abs(r.lo), std::abs(r.hi));
  int places = 0;
  if (c.type == ColumnType::kDecimal) {
    const int before = largest > 0 ? static_cast<int>(std::floor(std::log10(largest))) + 1 : 1;
    // So few places are the file's spelling, and no noise of its arithmetic.
    places = std::clamp(std::min(r.places, std::max(kDigitsKept - before, kPlacesKept)), 0, 15);
  }
  if (largest > 0x1p50 / std::pow(10.0, places))
    return leave_out(c, "numbers of more digits than muffle counts exactly");
  if (c.type == ColumnType::kInteger || places == r.places) c.step = r.step;
  const double scale = std::pow(10.0, places), step = c.step.value_or(1 / scale), span = r.hi - r.lo;
  const double unit = step * std::ceil(std::max(1.0, span > 0 ? round_unit(span) / step : 1.0) - 1e-9);
  // A hair inwards, or the quotient's rounding would take a round number to the next.
  const auto written = [&](double v) { return std::round(v * scale) / scale; };
  // Codes stand for the bounds themselves.
  c.lo = c.notation.bottom_code.empty() ? written(std::floor(r.lo / unit + 1e-9) * unit) : r.lo;
  c.hi = c.notation.top_code.empty() ? written(std::ceil(r.hi / unit - 1e-9) * unit) : r.hi;
  if (c.type == ColumnType::kDecimal) c.decimals = places;
}

/// From the first day of the first year to the last of the last one; of times the whole day.
void bound_times(const Reading& r, DraftColumn& c) {
  const bool own = c.notation.format.empty();
  const double unit =
      c.type == ColumnType::kDate || own ? 1.0 : schema::TimeFormat(c.type, c.notation.format).resolution();
  constexpr double kSecondsADay = 86400.0;
  if (c.type == ColumnType::kTime) {
    c.lo = 0.0;
    c.hi = kSecondsADay - std::max(unit, 1.0);
    return;
  }
  if (!own && schema::TimeFormat(c.type, c.notation.format).has_short_year())
    return;  // which century is for people
  schema::Column format;
  format.type = c.type;
  std::string first, last;
  schema::write_number(format, r.lo, first);
  schema::write_number(format, r.hi, last);
  const bool dates = c.type == ColumnType::kDate;
  c.lo = schema::parse_number(c.type, first.substr(0, 4) + (dates ? "-01-01" : "-01-01T00:00:00"));
  c.hi = schema::parse_number(c.type, last.substr(0, 4) + (dates ? "-12-31" : "-12-31T00:00:00"));
  if (!dates) *c.hi += kSecondsADay - std::max(unit, 1.0);
}

}  // namespace

std::string unknown_note(const std::string& shape) {
  return fmt::format(
      "{}: {} (d a digit, a a letter, u another character); "
      "docs/reference/schema.md says which ones there are. An identifier is type = \"ignore\", or "
      "role = \"person\"",
      kUnknownNotation, shape);
}

void settle(std::vector<DraftColumn> choices, DraftColumn& c) {
  c = choices.front();
  if (choices.size() > 1) c.choices = std::move(choices);
}

void PublicColumn::look_at(std::string_view field) {
  guess_.look_at(field);
  if (is_missing_word(field)) {
    missing_.insert(std::string(field));
  } else if (values_.size() <= kMostListed) {
    values_.insert(std::string(field));
  }
}

void PublicColumn::fill(const FileMarks& marks, DraftColumn& c) const {
  if (!guess_.seen()) return;
  c.guessed = false;
  c.missing.emplace(missing_.begin(), missing_.end());
  std::vector<DraftColumn> choices;
  for (const Reading& r : guess_.readings(marks)) take(r, choices.emplace_back(c));
  settle(std::move(choices), c);
}

void PublicColumn::take(const Reading& r, DraftColumn& c) const {
  c.type = r.type;
  c.notation = r.notation;
  c.note = r.note;
  if (guess_.are_codes()) c.note = kAreCodes;
  if (schema::is_number_type(c.type) && !guess_.words().empty()) {
    c.missing->insert(c.missing->end(), guess_.words().begin(), guess_.words().end());
    c.note = kHasWords;
  }
  if (schema::is_temporal_type(c.type)) return bound_times(r, c);
  if (schema::is_number_type(c.type)) return bound_numbers(r, c);
  const std::string shape = guess_.unknown_shape();
  if (values_.size() > kMostListed) {
    if (shape.empty())
      return leave_out(c,
                       fmt::format("more than {} different texts in the sample: an identifier, or free text",
                                   kMostListed));
    c.note = unknown_note(shape);
    return;
  }
  if (!shape.empty()) c.note = unknown_note(shape);
  c.values.emplace(values_.begin(), values_.end());
  std::sort(c.values->begin(), c.values->end(), in_natural_order);
  if (c.type == ColumnType::kBoolean && values_.size() != 2) c.type = ColumnType::kCategory;
}

}  // namespace muffle::data
