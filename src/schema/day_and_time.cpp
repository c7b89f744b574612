#include "muffle/schema/day_and_time.hpp"

#include <algorithm>
#include <cmath>

#include "bins.hpp"

namespace muffle::schema {
namespace {

/// A quotient just below a whole number is that number: steps of a fraction are not exact.
constexpr double kRounding = 1e-6;

bool is_whole(double steps) { return std::abs(steps - std::round(steps)) <= kRounding; }

void split(Table& table, std::size_t j) {
  Column time = table.columns[j];
  Column& day = table.columns[j];
  const DateBounds bounds{day.lo, day.hi};
  const std::uint32_t missing = day.missing_code();
  double first = bounds.lo;  // of the grid of its datetimes
  if (day.since) {
    first += as_in_files(table, *day.since).lo;
    day.apart = bounds;
    day.hi = later_bounds(table, day).hi;
  } else {
    day.dates = bounds;
    day.lo = day_and_time(bounds.lo).day;
    day.hi = day_and_time(bounds.hi).day;
    day.step = kSecondsADay;
  }
  day.edges = fine_bins(day);
  time.name = time_of_day_name(day.name);
  time.type = ColumnType::kTime;
  time.notation = Notation();
  time.unit.clear();
  time.since.reset();
  time.dates.reset();
  time.time_of = j;
  // The grid of the datetimes, as far as it shows within a day.
  const double scale = std::pow(10.0, time.decimals), steps = day_and_time(first).time / time.step;
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

/// The same of one that counts since another. Empty: it has a time of day.
std::string why_one_difference(const Table& table, const Column& c) {
  const Column base = as_in_files(table, *c.since);
  if (base.type != c.type) return "the other date is none with a time";  // refused later
  if (!(c.lo >= 0)) return "it may be earlier than the date that it counts since";
  if (!(c.lo < kSecondsADay)) return "it is a day later at least, whatever the two times of day are";
  if (!(c.hi - c.lo >= kSecondsADay)) return "its bounds lie within one day";
  if (!is_whole(base.step / c.step) || !is_whole(c.lo / c.step))
    return "its steps are not those of the date that it counts since";
  return {};
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
  if (!c.learned) return "its bins are written by hand";
  if (!(c.step < kSecondsADay) || !is_whole(kSecondsADay / c.step)) return "its steps are no parts of a day";
  if (c.since) return why_one_difference(table, c);
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
  const auto time = table.time_of_day(column);
  if (!out.has_time() || !time) return out;
  const DateBounds bounds = out.since ? *out.apart : *out.dates;
  out.lo = bounds.lo;
  out.hi = bounds.hi;
  out.step = table.columns[*time].step;
  out.apart.reset();
  out.edges = {out.lo, out.hi};
  return out;
}

DayAndTime day_and_time(double datetime) {
  const double day = std::floor(datetime / kSecondsADay) * kSecondsADay;
  return {day, datetime - day};
}

LaterBy later_by(double later, double earlier) {
  const DayAndTime to = day_and_time(later);
  const double days = to.day - day_and_time(earlier).day;
  return {days == 0 ? later - earlier : days + kSecondsADay / 2, to.time};
}

double whole_days(double apart) { return apart < kSecondsADay ? apart : day_and_time(apart).day; }

double later_datetime(const Column& column, double earlier, const LaterBy& by) {
  const DayAndTime from = day_and_time(earlier);
  double date = from.day + whole_days(by.apart) + by.time;
  if (by.apart < kSecondsADay) {
    date = earlier + by.apart;
    // Past midnight it would be a day later, which is a number of its own.
    if (day_and_time(date).day != from.day) {
      const double part = by.apart * (kSecondsADay - from.time) / kSecondsADay;
      date =
          by.time >= from.time ? from.day + by.time : earlier + std::floor(part / column.step) * column.step;
    }
  }
  double least = earlier + column.apart->lo, most = earlier + column.apart->hi;
  if (column.dates) {
    least = std::max(least, column.dates->lo);
    most = std::min(most, column.dates->hi);
  }
  return std::max(std::min(date, most), least);
}

DateBounds later_bounds(const Table& table, const Column& column) {
  double days = std::ceil(column.apart->hi / kSecondsADay);
  if (column.dates) {
    const Column base = as_in_files(table, *column.since);
    days = (day_and_time(column.dates->hi).day - day_and_time(base.lo).day) / kSecondsADay;
  }
  return {column.apart->lo, (days + 1) * kSecondsADay - column.step};
}

double time_in_day(const ColumnText& time, Cell cell) {
  const double known = time.number(cell);
  if (!std::isnan(known)) return known;
  const Column& c = time.column();
  const double last = std::round((c.hi - c.lo) / c.step);
  return c.lo + std::min(last, std::floor(static_cast<double>(cell.fraction) * (last + 1))) * c.step;
}

}  // namespace muffle::schema
