#include "muffle/schema/day_and_time.hpp"

#include <algorithm>
#include <cmath>

#include "bins.hpp"

namespace muffle::schema {
namespace {

void split(Table& table, std::size_t j) {
  Column time = table.columns[j];
  Column& day = table.columns[j];
  const DateBounds dates{day.lo, day.hi};
  const std::uint32_t missing = day.missing_code();
  day.dates = dates;
  day.lo = day_and_time(dates.lo).day;
  day.hi = day_and_time(dates.hi).day;
  day.step = kSecondsADay;
  day.edges = fine_bins(day);
  time.name = time_of_day_name(day.name);
  time.type = ColumnType::kTime;
  time.notation = Notation();
  time.unit.clear();
  time.time_of = j;
  // The grid of the datetimes, as far as it shows within a day. Steps of a fraction are not exact: a quotient
  // just below a whole number is that number.
  constexpr double kRounding = 1e-6;
  const double scale = std::pow(10.0, time.decimals), steps = day_and_time(dates.lo).time / time.step;
  const double rest = std::max(0.0, steps - std::floor(steps + kRounding)) * time.step;
  time.lo = std::round(rest * scale) / scale;
  time.hi = std::round((time.lo + kSecondsADay - time.step) * scale) / scale;
  time.edges = fine_bins(time);
  // Implications name a number's missing value alone.
  const auto renamed = [&](std::vector<std::uint32_t>& codes) {
    std::ranges::replace(codes, missing, day.missing_code());
  };
  for (Constraint& rule : table.constraints) {
    if (rule.kind != Constraint::Kind::kImplies) continue;
    if (rule.columns[0] == j) renamed(rule.when);
    if (rule.columns[1] == j) renamed(rule.then);
  }
  table.columns.push_back(std::move(time));
}

}  // namespace

bool is_by_the_second(const Table& table, const Constraint& rule) {
  const auto is_datetime = [&](std::size_t j) { return table.columns[j].type == ColumnType::kDatetime; };
  return rule.kind == Constraint::Kind::kCompare && std::ranges::all_of(rule.columns, is_datetime);
}

std::string time_of_day_name(const std::string& datetime) { return datetime + " (time of day)"; }

std::string why_one_number(const Table& table, std::size_t column) {
  const Column& c = table.columns[column];
  if (c.type != ColumnType::kDatetime || !c.is_feature()) return "it is no datetime that is released";
  if (c.since) return "it counts since another date, and what is released is how much later it is";
  if (!c.learned) return "its bins are written by hand";
  const double steps = kSecondsADay / c.step;
  if (!(c.step < kSecondsADay) || std::abs(steps - std::round(steps)) > 1e-6)
    return "its steps are no parts of a day";
  if (!(c.lo <= c.hi) || day_and_time(c.lo).day == day_and_time(c.hi).day)
    return "its bounds lie within one day";
  for (const Constraint& rule : table.constraints) {
    if (std::ranges::count(rule.columns, column) > 0 && is_by_the_second(table, rule))
      return "a constraint compares it by the second";
  }
  return {};
}

void split_datetimes(Table& table, const std::set<std::size_t>& whole) {
  for (std::size_t j = 0, n = table.columns.size(); j < n; ++j) {
    if (!whole.contains(j) && why_one_number(table, j).empty()) split(table, j);
  }
}

Column as_in_files(const Table& table, std::size_t column) {
  Column out = table.columns[column];
  if (!out.is_day()) return out;
  out.lo = out.dates->lo;
  out.hi = out.dates->hi;
  out.step = table.columns[*table.time_of_day(column)].step;
  out.edges = {out.lo, out.hi};
  return out;
}

DayAndTime day_and_time(double datetime) {
  const double day = std::floor(datetime / kSecondsADay) * kSecondsADay;
  return {day, datetime - day};
}

double time_in_day(const ColumnText& time, Cell cell) {
  const double known = time.number(cell);
  if (!std::isnan(known)) return known;
  const Column& c = time.column();
  const double last = std::round((c.hi - c.lo) / c.step);
  return c.lo + std::min(last, std::floor(static_cast<double>(cell.fraction) * (last + 1))) * c.step;
}

}  // namespace muffle::schema
