#include "muffle/schema/table_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/plain_text.hpp"

namespace muffle::schema {
namespace {

/// A plain decimal number, all of the text.
std::optional<double> decimal(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int> digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Days since 1970-01-01 of YYYY-MM-DD.
std::optional<double> days(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto y = digits(text.substr(0, 4)), m = digits(text.substr(5, 2)), d = digits(text.substr(8, 2));
  if (!y || !m || !d) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*y), std::chrono::month(static_cast<unsigned>(*m)),
                                         std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// Seconds since midnight of hh:mm:ss.
std::optional<double> time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto h = digits(text.substr(0, 2)), m = digits(text.substr(3, 2)), s = digits(text.substr(6, 2));
  if (!h || !m || !s || *h > 23 || *m > 59 || *s > 59) return std::nullopt;
  return *h * 3600.0 + *m * 60.0 + *s;
}

/// Seconds since 1970-01-01 of YYYY-MM-DDThh:mm:ss.
std::optional<double> seconds(std::string_view text) {
  if (text.size() != 19 || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto date = days(text.substr(0, 10)), time = time_of_day(text.substr(11));
  if (!date || !time) return std::nullopt;
  return *date * kSecondsADay + *time;
}

void write_days(double value, std::string& out) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(value)))};
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

void write_time(double seconds, int decimals, std::string& out) {
  const auto whole = static_cast<int>(seconds);
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:", whole / 3600, whole / 60 % 60);
  fmt::format_to(std::back_inserter(out), "{:0{}.{}f}", whole % 60 + (seconds - whole),
                 decimals > 0 ? decimals + 3 : 2, decimals);
}

}  // namespace

std::optional<double> parse_number(ColumnType type, std::string_view text) {
  text = trimmed(text);
  switch (type) {
    case ColumnType::kDate:
      return days(text);
    case ColumnType::kDatetime:
      return seconds(text);
    case ColumnType::kTime:
      return time_of_day(text);
    case ColumnType::kInteger: {
      const auto value = decimal(text);
      return value && *value == std::floor(*value) ? value : std::nullopt;
    }
    default:
      return decimal(text);
  }
}

void write_number(const Column& column, double value, std::string& out) {
  switch (column.type) {
    case ColumnType::kDate:
      return write_days(value, out);
    case ColumnType::kDatetime: {
      // Of the time alone, as a double has no more digits to spare.
      const double scale = std::pow(10.0, column.decimals);
      double day = std::floor(value / kSecondsADay);
      double ticks = std::round((value - day * kSecondsADay) * scale);
      if (ticks >= kSecondsADay * scale) day += 1, ticks = 0;
      write_days(day, out);
      out += 'T';
      return write_time(ticks / scale, column.decimals, out);
    }
    case ColumnType::kTime: {
      // Rounded once, and within the day: no 00:00:60, no 24:00:00.
      const double scale = std::pow(10.0, column.decimals);
      return write_time(std::min(std::round(value * scale), kSecondsADay * scale - 1) / scale,
                        column.decimals, out);
    }
    default:
      fmt::format_to(std::back_inserter(out), "{:.{}f}", value == 0 ? 0.0 : value, column.decimals);
  }
}

std::optional<std::string> special_text(const Column& column, double value) {
  if (!column.since && !column.is_day()) return std::nullopt;
  const double days = column.type == ColumnType::kDate ? value : value / kSecondsADay;
  if (column.since) return fmt::format("{:.6g} days", days);
  std::string out;
  write_days(std::floor(days), out);
  return out;
}

std::string_view misfit_text(Misfit misfit, const Column& column) {
  switch (misfit) {
    case Misfit::kNone:
      return "is one that fits";
    case Misfit::kNotANumber:
      if (!column.notation.is_plain())
        return column.is_temporal() ? "is not written as the column's format says"
                                    : "is not a number in the column's notation";
      if (column.type == ColumnType::kTime) return "is not a time of day, hh:mm:ss";
      if (column.type == ColumnType::kDate) return "is not a date, YYYY-MM-DD";
      if (column.type == ColumnType::kDatetime) return "is not a date and time, YYYY-MM-DDThh:mm:ss";
      return column.type == ColumnType::kInteger ? "is not a whole number" : "is not a number";
    case Misfit::kBelow:
      return column.since && !column.dates ? "is later than the other date by less than the column's lo"
                                           : "is below the column's lo";
    case Misfit::kAbove:
      return column.since && !column.dates ? "is later than the other date by more than the column's hi"
                                           : "is above the column's hi";
    case Misfit::kUnknown:
      return "is not one of the column's values";
    case Misfit::kAbsent:
      return "is missing, and the schema says that this column is always there";
    case Misfit::kTooEarly:
      return "is earlier than the constraint between it and another date allows";
  }
  return "is one that does not fit";
}

std::string misfits_text(std::uint64_t fields, Misfit misfit, const Column& column) {
  std::string_view text = misfit_text(misfit, column);
  if (fields == 1) return fmt::format("1 field {}", text);
  text.remove_prefix(std::string_view("is ").size());
  return fmt::format("{} fields are {}", fields, text);
}

Grid::Grid(const Column& column)
    : lo_(column.lo), step_(column.step), scale_(std::pow(10.0, column.decimals)) {
  require(column.is_number() && column.edges.size() >= 2, "a grid of a column without bins");
  count_ = static_cast<std::uint64_t>(std::floor((column.hi - column.lo) / column.step + 0.5)) + 1;
  for (const double edge : column.edges) {
    // The first index whose value is not below the edge; exact, whatever the rounding of the quotient.
    const double at = std::ceil((edge - lo_) / step_);
    auto index = at <= 0 ? std::uint64_t{0} : std::min(static_cast<std::uint64_t>(at), count_);
    while (index > 0 && value(index - 1) >= edge) --index;
    while (index < count_ && value(index) < edge) ++index;
    first_.push_back(index);
  }
  first_.front() = 0;
  first_.back() = count_;  // the last bin holds its upper edge too
  // More values than these are not worth a table for each reader of a schema.
  const std::uint64_t cells = std::min(count_, std::uint64_t{1} << 12);
  cells_.resize(cells);
  for (std::uint32_t b = 0; b + 1 < first_.size(); ++b) {
    for (std::uint64_t index = first_[b]; index < std::min(first_[b + 1], cells); ++index)
      cells_[index] = cell_in(b, index);
  }
}

double Grid::value(std::uint64_t index) const {
  const double exact = lo_ + static_cast<double>(index) * step_;
  return std::round(exact * scale_) / scale_;
}

std::uint64_t Grid::index(double value) const {
  const double at = std::floor((value - lo_) / step_ + 0.5);
  return static_cast<std::uint64_t>(std::clamp(at, 0.0, static_cast<double>(count_ - 1)));
}

std::uint32_t Grid::bin(std::uint64_t index) const {
  return static_cast<std::uint32_t>(std::upper_bound(first_.begin(), first_.end() - 1, index) -
                                    first_.begin() - 1);
}

Cell Grid::computed_cell(std::uint64_t index) const { return cell_in(bin(index), index); }

Cell Grid::cell_in(std::uint32_t b, std::uint64_t index) const {
  const auto width = static_cast<double>(first_[b + 1] - first_[b]);
  return {b, static_cast<float>((static_cast<double>(index - first_[b]) + 0.5) / width)};
}

std::uint64_t Grid::index_of(Cell cell) const {
  const std::uint32_t b = std::min(cell.code, static_cast<std::uint32_t>(first_.size() - 2));
  const std::uint64_t width = first_[b + 1] - first_[b];
  const auto within = static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(cell.fraction)) *
                                                 static_cast<double>(width));
  return first_[b] + std::min(within, width - 1);
}

ColumnText::ColumnText(Column column)
    : column_(std::move(column)),
      numbers_text_(column_.type, column_.notation, column_.decimals, column_.lo) {
  if (column_.is_number()) grid_.emplace(column_);
  const std::size_t categories = column_.is_number() ? 0 : column_.values.size();
  for (std::uint32_t i = 0; i < categories; ++i) {
    codes_[column_.values[i].name] = i;
    for (const std::string& alias : column_.values[i].aliases) codes_[alias] = i;
  }
  if (column_.missing) {
    for (const std::string& spelling : column_.spellings) codes_[spelling] = column_.missing_code();
  }
  find_numbers();
}

/// Texts that are numbers: a number in a file may not mean another value than the same number as text.
void ColumnText::find_numbers() {
  for (const auto& [text, code] : codes_) {
    const auto value = parse_number(column_.is_number() ? column_.type : ColumnType::kDecimal, text);
    if (!value || std::abs(*value) > 0x1p53) continue;
    numbers_are_texts_ = numbers_are_texts_ || (!column_.is_number() && *value != code);
    const auto [known, is_new] = numbers_.try_emplace(*value, code);
    if (!is_new && known->second != code) known->second = std::nullopt;
  }
  if (!column_.is_number() && !numbers_are_texts_) numbers_.clear();
}

FieldReading ColumnText::misfit(Misfit which) const {
  FieldReading out{which, std::nullopt};
  if (which == Misfit::kBelow) out.cell = grid_->cell(0);
  if (which == Misfit::kAbove) out.cell = grid_->cell(grid_->count() - 1);
  if (!out.cell && column_.missing) out.cell = Cell{column_.missing_code(), 0.5f};
  return out;
}

FieldReading ColumnText::of_number(double value) const {
  // Half a step: what rounds to the bound is the bound.
  const bool whole = column_.type != ColumnType::kDecimal && column_.decimals == 0;
  const double half = whole ? 0.0 : column_.step / 2;
  if (value < column_.lo - half) return misfit(Misfit::kBelow);
  if (value > column_.hi + half) return misfit(Misfit::kAbove);
  return {Misfit::kNone, grid_->cell(grid_->index(value))};
}

FieldReading ColumnText::read(std::string_view field) const {
  field = trimmed(field);
  if (const auto known = codes_.find(field); known != codes_.end())
    return {Misfit::kNone, Cell{known->second, 0.5f}};
  // What the schema spells is composed: a field that is not is looked up again.
  std::string composed;
  if (!is_ascii(field)) {
    field = composed = plain_text(field);
    if (const auto known = codes_.find(field); known != codes_.end())
      return {Misfit::kNone, Cell{known->second, 0.5f}};
  }
  if (field.empty()) return misfit(Misfit::kAbsent);
  if (!column_.is_number()) return misfit(Misfit::kUnknown);
  const std::optional<double> value = number(field);
  return value ? of_number(*value) : misfit(Misfit::kNotANumber);
}

std::optional<double> ColumnText::number(std::string_view field) const {
  const Notation& n = column_.notation;
  if (!n.top_code.empty() && field == n.top_code) return column_.hi;
  if (!n.bottom_code.empty() && field == n.bottom_code) return column_.lo;
  return numbers_text_.parse(field);
}

void ColumnText::write_number(double value, std::string& out) const {
  const Notation& n = column_.notation;
  // Half a step: values of a grid are rounded.
  if (!n.top_code.empty() && value > column_.hi - column_.step / 2) {
    out += n.top_code;
  } else if (!n.bottom_code.empty() && value < column_.lo + column_.step / 2) {
    out += n.bottom_code;
  } else {
    numbers_text_.write(value, out);
  }
}

FieldReading ColumnText::read(double number) const {
  if (std::isnan(number))
    return column_.missing ? FieldReading{Misfit::kNone, Cell{column_.missing_code(), 0.5f}}
                           : misfit(Misfit::kAbsent);
  if (const auto known = numbers_.find(number); known != numbers_.end()) {
    if (!known->second) return misfit(Misfit::kUnknown);
    return {Misfit::kNone, Cell{*known->second, 0.5f}};
  }
  if (numbers_are_texts_) return misfit(Misfit::kUnknown);
  if (!column_.is_number()) {
    if (number != std::floor(number) || number < 0 || number >= static_cast<double>(column_.codes()))
      return misfit(Misfit::kUnknown);
    return {Misfit::kNone, Cell{static_cast<std::uint32_t>(number), 0.5f}};
  }
  const bool whole = column_.type != ColumnType::kDecimal && column_.decimals == 0;
  if (std::isinf(number) || (whole && number != std::floor(number))) return misfit(Misfit::kNotANumber);
  return of_number(number);
}

FieldReading ColumnText::read_difference(double later_by) const {
  return std::isfinite(later_by) ? of_number(later_by) : misfit(Misfit::kNotANumber);
}

void ColumnText::write(Cell cell, std::string& out) const {
  if (column_.missing && cell.code >= column_.missing_code()) {
    if (!column_.spellings.empty()) out += column_.spellings.front();
  } else if (column_.is_number()) {
    write_number(grid_->value(grid_->index_of(cell)), out);
  } else {
    out += column_.values[std::min<std::size_t>(cell.code, column_.values.size() - 1)].name;
  }
}

double ColumnText::number(Cell cell) const {
  if (column_.missing && cell.code >= column_.missing_code()) return std::numeric_limits<double>::quiet_NaN();
  if (!column_.is_number()) return static_cast<double>(cell.code);
  const double value = grid_->value(grid_->index_of(cell));
  return column_.counts_days() ? whole_days(value) : value;
}

}  // namespace muffle::schema
