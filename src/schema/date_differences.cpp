#include "muffle/schema/date_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "bins.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/plain_text.hpp"

namespace muffle::schema {
namespace {

using Kind = Constraint::Kind;
using Op = Constraint::Op;
using Unit = Derivation::Unit;

bool is_date(const Column& column) {
  return column.type == ColumnType::kDate || column.type == ColumnType::kDatetime;
}

/// Days since 1970-01-01, a part of one too.
double in_days(const Column& column, double value) {
  return column.type == ColumnType::kDate ? value : value / kSecondsADay;
}

std::optional<std::size_t> named(const Table& table, std::string_view name) {
  const std::string plain = plain_text(name);
  const auto found =
      std::ranges::find_if(table.columns, [&](const Column& column) { return column.name == plain; });
  if (found == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns.begin());
}

/// Years from one day to another that are completed; before it they count downwards.
double whole_years(double later, double earlier) {
  constexpr double kMostDays = 3e6;  // of dates that a calendar has; files may hold any number
  const auto date = [&](double days) {
    const double day = std::floor(std::clamp(days, -kMostDays, kMostDays));
    return std::chrono::year_month_day(
        std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(day))));
  };
  const std::chrono::year_month_day to = date(later), from = date(earlier);
  const bool before_its_day =
      to.month() < from.month() || (to.month() == from.month() && to.day() < from.day());
  return static_cast<double>((to.year() - from.year()).count() - (before_its_day ? 1 : 0));
}

/// What the dates of a column lie within.
DateBounds date_bounds(const Table& table, const Column& column) {
  if (column.dates) return *column.dates;
  if (!column.since) return {column.lo, column.hi};
  const DateBounds base = date_bounds(table, table.columns[*column.since]);
  const DateBounds apart = column.apart.value_or(DateBounds{column.lo, column.hi});
  return {base.lo + apart.lo, base.hi + apart.hi};
}

/// Whether the later column can count since the earlier one in place of a rule.
bool can_count(const Table& table, std::size_t rule, std::size_t later, std::size_t earlier, bool strictly) {
  const Column &a = table.columns[earlier], &b = table.columns[later];
  if (later == earlier || a.type != b.type || !is_date(b) || !a.is_feature() || !b.is_feature()) return false;
  if (!b.learned || b.since || a.since || a.missing) return false;
  if (!(a.lo <= a.hi && b.lo <= b.hi)) return false;  // refused later
  for (const Column& c : table.columns) {
    if (c.since == later) return false;
  }
  for (std::size_t i = 0; i < table.constraints.size(); ++i) {
    const Constraint& other = table.constraints[i];
    if (i != rule && other.kind != Kind::kImplies && std::ranges::count(other.columns, later) > 0)
      return false;
  }
  if (!b.notation.format.empty() && TimeFormat(b.type, b.notation.format).has_short_year()) return false;
  // On the later one's grid lies the earlier one's, so that both stay on theirs.
  const auto whole_steps = [&](double apart) { return std::fmod(apart, b.step) == 0; };
  return a.hi + (strictly ? b.step : 0.0) <= b.hi && whole_steps(a.step) && whole_steps(a.lo - b.lo);
}

void count_since(Table& table, std::size_t later, std::size_t earlier, bool strictly) {
  Column& c = table.columns[later];
  c.since = earlier;
  c.dates = DateBounds{c.lo, c.hi};
  c.lo = strictly ? c.step : 0.0;
  c.hi -= table.columns[earlier].lo;
  c.edges = fine_bins(c);
  for (Constraint& rule : table.constraints) {  // implications name a number's missing value alone
    if (rule.kind != Kind::kImplies) continue;
    if (rule.columns[0] == later) std::ranges::fill(rule.when, c.missing_code());
    if (rule.columns[1] == later) std::ranges::fill(rule.then, c.missing_code());
  }
}

}  // namespace

std::optional<Derivation> parse_derivation(std::string_view text, const Table& table) {
  text = trimmed(text);
  Derivation out;
  if (text.starts_with("years(")) {
    out.unit = Unit::kYears;
  } else if (!text.starts_with("days(")) {
    return std::nullopt;
  }
  if (!text.ends_with(')')) return std::nullopt;
  text.remove_prefix(text.find('(') + 1);
  text.remove_suffix(1);
  // A name may hold a minus sign of its own.
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 1)) {
    const auto later = named(table, text.substr(0, at)), earlier = named(table, text.substr(at + 1));
    if (!later || !earlier) continue;
    out.later = *later;
    out.earlier = *earlier;
    return out;
  }
  return std::nullopt;
}

std::string derivation_text(const Derivation& derived, const Table& table) {
  return fmt::format("{}({} - {})", derived.unit == Unit::kYears ? "years" : "days",
                     table.columns[derived.later].name, table.columns[derived.earlier].name);
}

double derived_number(const Table& table, const Column& column, double later, double earlier) {
  if (std::isnan(later) || std::isnan(earlier)) return std::numeric_limits<double>::quiet_NaN();
  const double to = in_days(table.columns[column.derived->later], later);
  const double from = in_days(table.columns[column.derived->earlier], earlier);
  if (column.derived->unit == Unit::kYears) return whole_years(to, from);
  if (column.type == ColumnType::kInteger) return std::floor(to) - std::floor(from);
  const double scale = std::pow(10.0, column.decimals);
  return std::round((to - from) * scale) / scale;
}

DateBounds derived_bounds(const Table& table, const Column& column) {
  const DateBounds later = date_bounds(table, table.columns[column.derived->later]);
  const DateBounds earlier = date_bounds(table, table.columns[column.derived->earlier]);
  return {derived_number(table, column, later.lo, earlier.hi),
          derived_number(table, column, later.hi, earlier.lo)};
}

void count_since_by_rules(Table& table) {
  for (std::size_t i = 0; i < table.constraints.size();) {
    const Constraint& rule = table.constraints[i];
    if (rule.kind == Kind::kCompare && rule.columns.size() == 2 && rule.op != Op::kEqual) {
      const bool up = rule.op == Op::kLess || rule.op == Op::kAtMost;
      const bool strictly = rule.op == Op::kLess || rule.op == Op::kGreater;
      const std::size_t later = rule.columns[up ? 1 : 0], earlier = rule.columns[up ? 0 : 1];
      if (can_count(table, i, later, earlier, strictly)) {
        count_since(table, later, earlier, strictly);
        table.constraints.erase(table.constraints.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
    }
    ++i;
  }
}

RowNumbers::RowNumbers(const Table& table) : table_(table), known_(table.columns.size()) {
  const std::vector<std::size_t> features = table.features();
  const auto know = [&](std::size_t j) {
    const auto at = std::ranges::find(features, j) - features.begin();
    if (!known_[j]) known_[j] = Known{ColumnText(table.columns[j]), static_cast<std::size_t>(at)};
  };
  const auto know_whole = [&](std::size_t j) {
    know(j);
    if (table.columns[j].has_time()) know(*table.time_of_day(j));
  };
  const auto follow = [&](std::size_t j) {
    know_whole(j);
    if (table.columns[j].since) know_whole(*table.columns[j].since);
  };
  for (std::size_t j = 0; j < known_.size(); ++j) {
    const Column& c = table.columns[j];
    if (c.since || c.is_day()) follow(j);
    if (c.determined) know(c.determined->by);
    if (!c.derived) continue;
    follow(c.derived->later);
    follow(c.derived->earlier);
  }
}

double RowNumbers::number(std::size_t column, std::span<const float> record) const {
  const Column& c = table_.columns[column];
  if (c.derived)
    return derived_number(table_, c, number(c.derived->later, record), number(c.derived->earlier, record));
  if (c.determined) {
    const Column& by = table_.columns[c.determined->by];
    const std::uint32_t code = cell_at(record[known_[c.determined->by]->at], by.codes()).code;
    if (by.missing && code == by.missing_code()) return std::numeric_limits<double>::quiet_NaN();
    return c.determined->codes[code];
  }
  const Known& known = *known_[column];
  const double own = known.text.number(cell_at(record[known.at], c.codes()));
  if (!c.since && !c.is_day()) return own;
  if (c.counts_days()) {
    const double earlier = number(*c.since, record);
    if (std::isnan(own) || std::isnan(earlier)) return std::numeric_limits<double>::quiet_NaN();
    return later_datetime(c, earlier, {own, time_of_day(column, record)});
  }
  const double date = own + (c.since ? number(*c.since, record) : time_of_day(column, record));  // NaN stays
  return c.dates ? std::clamp(date, c.dates->lo, c.dates->hi) : date;
}

double RowNumbers::time_of_day(std::size_t column, std::span<const float> record) const {
  const std::size_t j = *table_.time_of_day(column);
  return time_in_day(known_[j]->text, cell_at(record[known_[j]->at], table_.columns[j].codes()));
}

}  // namespace muffle::schema
