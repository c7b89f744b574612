#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "combinations.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

using Kind = Constraint::Kind;

/// Values of a grid are counted exactly up to here.
constexpr double kMostValues = 0x1p52;
/// A position (float32) tells so many values apart, with room for its rounding and its margins: the widest
/// bin's times the codes.
constexpr std::uint64_t kMostTold = 6'000'000;
/// Cell::fraction tells so many values of a bin apart. A comparison needs no more: RowRules finds values that
/// keep it.
constexpr std::uint64_t kMostInABin = std::uint64_t{1} << 22;

class Checks {
 public:
  explicit Checks(const Table& table) : table_(table) {}

  std::vector<std::string> run() {
    if (table_.columns.empty()) add("it has no columns");
    if (table_.columns.size() > kMostColumns) add(fmt::format("it has more than {} columns", kMostColumns));
    std::set<std::string> names;
    for (std::size_t j = 0; j < table_.columns.size(); ++j) {
      const Column& c = table_.columns[j];
      if (c.name.empty()) add("a column has no name");
      if (!names.insert(c.name).second)
        add(c.time_of ? fmt::format("column '{}' has the name that a time of day needs: rename it, or set "
                                    "time_of_day = false for that datetime",
                                    c.name)
                      : fmt::format("column '{}' is there twice", c.name));
      if (c.type == ColumnType::kKey) key(c);
      if (!c.is_unread() && !is_part(c)) column(c);
      // What people write is the datetime: what is wrong about it is said of that.
      if (c.has_time() && table_.time_of_day(j)) column(as_in_files(table_, j));
    }
    times_of_day();
    roles();
    if (out_.empty()) {
      for (const Column& c : table_.columns) {
        if (is_part(c)) column(c);
      }
    }
    if (out_.empty()) {
      for (std::size_t i = 0; i < table_.constraints.size(); ++i) constraint(i, table_.constraints[i]);
    }
    if (out_.empty() && !table_.constraints.empty()) {
      if (const std::string problem = RowRules(table_).contradiction(); !problem.empty()) add(problem);
    }
    return out_;
  }

 private:
  void add(std::string problem) { out_.push_back(std::move(problem)); }
  static bool is_part(const Column& c) { return c.has_time() || c.time_of; }

  void key(const Column& c) {
    const auto say = [&](const std::string& what) { add(fmt::format("column '{}': {}", c.name, what)); };
    if (c.missing) say("a key is always there");
    key_notation(c, say);
  }

  template <class Say>
  static void key_notation(const Column& c, const Say& say) {
    if (c.digits < 0 || c.digits > kMostKeyDigits)
      say(fmt::format("a key has at most {} digits", kMostKeyDigits));
    Notation affixes;
    affixes.prefix = c.notation.prefix;
    affixes.suffix = c.notation.suffix;
    if (c.notation != affixes) say("a key has a prefix and a suffix, and no other notation");
  }

  /// Any text. What is released of it are counts of rows, if anything.
  template <class Say>
  static void person(const Column& c, const Say& say) {
    if (c.rows == 1 || c.rows > kMostRowsOfAPerson)
      say(fmt::format("rows must be a number from 2 to {}", kMostRowsOfAPerson));
    if (c.rows > 0) key_notation(c, say);
    if (c.role != ColumnRole::kCountedPerson) return;
    bool numbered = c.rows > 0 && c.values.size() == c.rows;
    for (std::size_t k = 0; numbered && k < c.rows; ++k)
      numbered = c.values[k] == Category{std::to_string(k + 1), {}};
    if (!numbered || c.type != ColumnType::kCategory)
      say("its values are not those of rows that are counted");
  }

  void column(const Column& c) {
    const auto say = [&](const std::string& what) { add(fmt::format("column '{}': {}", c.name, what)); };
    if (c.is_person()) return person(c, say);
    if (!c.is_number() && c.notation != Notation())
      say("categories have no notation: their texts are their values");
    if (c.is_number()) {
      number(c, say);
    } else {
      categories(c, say);
    }
    const auto plain = [&](const std::string& text) {
      if (text != plain_text(text)) say(fmt::format("\"{}\" has blanks around it, or is not in NFC", text));
    };
    for (const Category& v : c.values) {
      plain(v.name);
      std::for_each(v.aliases.begin(), v.aliases.end(), plain);
    }
    std::for_each(c.spellings.begin(), c.spellings.end(), plain);
    if (c.since && !c.apart) since(c, say);  // of one that counts_days(): of what files have
    if (c.derived) derived(c, say);
    if (c.determined) determined(c, say);
    if (c.codes() > kMostCodes) say(fmt::format("more than {} bins or values", kMostCodes));
    if (c.missing && c.spellings.empty()) say("missing values need a spelling, such as \"\" or \"NA\"");
  }

  /// A value must be one that can be written, whatever the other column's is.
  template <class Say>
  void since(const Column& c, const Say& say) {
    if (*c.since >= table_.columns.size()) return say("it counts since a column that is not there");
    const Column& base = table_.columns[*c.since];
    if (c.type != ColumnType::kDate && c.type != ColumnType::kDatetime)
      return say("only dates and datetimes count since another column");
    if (base.type != c.type || !base.is_feature() || !c.is_feature() || base.since || base.time_of)
      return say(fmt::format(
          "it counts since column '{}', which must have its type and neither 'since' nor 'derive' of its own",
          base.name));
    if (base.missing && !c.missing)
      return say(
          fmt::format("it counts since column '{}', which may be missing: then so may this one", base.name));
    if (c.dates && !(c.dates->lo <= c.dates->hi)) return say("its own dates must be finite, in order");
    if (!c.notation.top_code.empty() || !c.notation.bottom_code.empty() ||
        (!c.notation.format.empty() && TimeFormat(c.type, c.notation.format).has_short_year()))
      return say("a column that counts since another has no codes for bounds, and years of four digits");
    constexpr double kYearOne = -719162.0, kYearTenThousand = 2932897.0;  // in days
    const double a_day = c.type == ColumnType::kDate ? 1.0 : kSecondsADay;
    const DateBounds dates = base.is_day() ? *base.dates : DateBounds{base.lo, base.hi};
    if (!(dates.lo + c.lo >= kYearOne * a_day) || !(dates.hi + c.hi < kYearTenThousand * a_day))
      say(fmt::format("column '{}' and what it may be later lie outside the years 1 to 9999", base.name));
  }

  /// Every datetime that has a time of day has one, and both are what split_datetimes() makes.
  void times_of_day() {
    std::set<std::size_t> days;
    for (std::size_t j = 0; j < table_.columns.size(); ++j) {
      const Column& c = table_.columns[j];
      if ((c.is_day() || c.apart) && !table_.time_of_day(j))
        add(fmt::format("column '{}' is a day without a time", c.name));
      if (!c.time_of) continue;
      if (j < table_.in_files() || *c.time_of >= table_.in_files() || !days.insert(*c.time_of).second ||
          !is_time_of(c, table_.columns[*c.time_of]))
        add(fmt::format("column '{}' is no time of day of a datetime", c.name));
    }
  }
  bool is_time_of(const Column& time, const Column& day) const {
    return day.type == ColumnType::kDatetime && day.is_feature() && day.learned &&
           (day.since ? counts_days(day, time.step) : is_day(day)) && time.type == ColumnType::kTime &&
           time.is_feature() && time.learned && !time.since && !time.apart && !time.dates &&
           time.name == time_of_day_name(day.name) && time.missing == day.missing &&
           time.spellings == day.spellings && time.decimals == day.decimals && time.notation == Notation() &&
           time.lo < time.step && time.hi + time.step > kSecondsADay - time.step / 2;
  }
  static bool is_day(const Column& day) {
    const auto is_midnight = [](double value) { return day_and_time(value).time == 0; };
    return day.is_day() && !day.apart && day.step == kSecondsADay && day.lo < day.hi && is_midnight(day.lo) &&
           is_midnight(day.hi) && day_and_time(day.dates->lo).day == day.lo &&
           day_and_time(day.dates->hi).day == day.hi;
  }
  /// A cell is of the other date's day, or of whole days.
  bool counts_days(const Column& day, double step) const {
    if (!day.apart || *day.since >= table_.in_files() || day.step != step) return false;
    const auto [lo, hi] = *day.apart;
    const Column base = as_in_files(table_, *day.since);
    const bool whole = std::ranges::all_of(
        day.edges, [](double edge) { return edge < kSecondsADay || day_and_time(edge).time == 0; });
    return base.type == ColumnType::kDatetime && lo >= 0 && lo < kSecondsADay && hi - lo >= kSecondsADay &&
           whole && std::ranges::count(day.edges, kSecondsADay) == 1 &&
           DateBounds{day.lo, day.hi} == later_bounds(table_, day);
  }

  template <class Say>
  void determined(const Column& c, const Say& say) {
    if (c.is_number() || c.role != ColumnRole::kFeature)
      return say("only categories without a role are determined by others");
    if (c.determined->by >= table_.columns.size())
      return say("it is determined by a column that is not there");
    const Column& by = table_.columns[c.determined->by];
    if (by.is_number() || !by.is_feature() || by.is_person())
      return say(fmt::format("it is determined by column '{}', which must be categories that are released",
                             by.name));
    if (by.missing && !c.missing)
      return say(fmt::format("it is determined by column '{}', which may be missing: then so may this one",
                             by.name));
    const std::vector<std::uint32_t>& codes = c.determined->codes;
    if (codes.size() != by.values.size() ||
        std::ranges::any_of(codes, [&](std::uint32_t code) { return code >= c.values.size(); }))
      say(fmt::format("not every value of column '{}' goes with one of its own", by.name));
  }

  template <class Say>
  void derived(const Column& c, const Say& say) {
    const bool whole = c.type == ColumnType::kInteger;
    if (!whole && c.type != ColumnType::kDecimal) return say("only integers and decimals are derived");
    if (!whole && c.derived->unit == Derivation::Unit::kYears)
      return say("years are whole: its type is integer");
    if (c.role != ColumnRole::kFeature || !c.notation.top_code.empty() || !c.notation.bottom_code.empty())
      return say("what is derived has neither a role nor codes for bounds");
    for (const std::size_t j : {c.derived->later, c.derived->earlier}) {
      if (j >= table_.columns.size()) return say("it is derived from a column that is not there");
      const Column& source = table_.columns[j];
      if (!source.is_feature() || (source.type != ColumnType::kDate && source.type != ColumnType::kDatetime))
        return say(fmt::format(
            "it is derived from column '{}', which must be a date or datetime that is not derived itself",
            source.name));
      if (source.since && *source.since >= table_.columns.size()) return;  // said of that one
      if (source.missing && !c.missing)
        return say(fmt::format("it is derived from column '{}', which may be missing: then so may this one",
                               source.name));
    }
    const DateBounds bounds = derived_bounds(table_, c);
    if (c.lo != bounds.lo || c.hi != bounds.hi || c.bins() != 1)
      say("its bounds are not those that follow from its dates");
  }

  template <class Say>
  void number(const Column& c, const Say& say) {
    if (!std::isfinite(c.lo) || !std::isfinite(c.hi) || !(c.lo <= c.hi))
      return say("lo and hi must be finite, lo not above hi");
    if (!(c.step > 0) || !std::isfinite(c.step) || (c.hi - c.lo) / c.step > kMostValues)
      return say("step must be positive, and not too small for its bounds");
    if (c.decimals < 0 || c.decimals > 15) return say("decimals must be 0 to 15");
    if (c.type == ColumnType::kTime && !(c.lo >= 0 && c.hi < 86400))
      return say("a time of day lies between 00:00:00 and 23:59:59");
    if (const std::string problem = notation_problem(c.type, c.notation); !problem.empty())
      return say(problem);
    const double units = std::pow(10.0, c.decimals);
    // A datetime's millionths are a few last places of a double.
    const double rounding = std::max(std::abs(c.lo), std::abs(c.hi)) * 0x1p-52;
    const auto whole = [&](double count, double unit) {
      return std::abs(count - std::round(count)) <= std::max(1e-6, rounding / unit);
    };
    const auto written = [&](double v) { return whole(v * units, 1 / units); };
    if (std::abs(c.lo) > kMostValues / units || std::abs(c.hi) > kMostValues / units)
      return say(fmt::format("its bounds are too large to be written with {} decimals", c.decimals));
    if (!written(c.lo) || !written(c.step) || c.step * units < 0.5)
      return say(fmt::format("lo or step cannot be written with {} decimals", c.decimals));
    if (!whole((c.hi - c.lo) / c.step, c.step)) return say("hi must be lo and a whole number of steps");
    if (c.edges.size() < 2) return say("it has no bins");
    for (std::size_t i = 0; i < c.edges.size(); ++i) {
      if (!std::isfinite(c.edges[i]) || (i > 0 && !(c.edges[i] > c.edges[i - 1])))
        return say("edges must be finite and ascend");
    }
    if (c.edges.front() > c.lo || c.edges.back() < c.hi) return say("edges must span lo to hi");
    if (c.notation != Notation() && !notation(c, say)) return;
    const Grid grid(c);
    for (std::uint32_t b = 0; b < c.bins(); ++b) {
      if (grid.first(b) == grid.first(b + 1))
        return say(fmt::format("bin {} (from {} to {}) holds no value of it: leave out an edge", b + 1,
                               exact_text(c.edges[b]), exact_text(c.edges[b + 1])));
    }
  }

  /// A notation must tell all values of the column apart: what is written is what is read.
  template <class Say>
  bool notation(const Column& c, const Say& say) {
    const auto wrong = [&](const std::string& what) { return say(what), false; };
    if (!c.notation.format.empty()) {
      const TimeFormat format(c.type, c.notation.format);
      const double unit = c.type == ColumnType::kDate ? 1.0 : format.resolution(), units = c.step / unit;
      constexpr double kYearOne = -719162.0, kYearTenThousand = 2932897.0;  // in days
      const double a_day = c.type == ColumnType::kDate ? 1.0 : kSecondsADay;
      if (std::abs(units - std::round(units)) > 1e-6 || units < 0.5)
        return wrong(fmt::format("its format cannot write a step of {}: step must be a multiple of {}",
                                 exact_text(c.step), exact_text(unit)));
      if (c.type == ColumnType::kTime ? c.lo < 0 || c.hi >= kSecondsADay
                                      : c.lo < kYearOne * a_day || c.hi >= kYearTenThousand * a_day)
        return wrong("its bounds are no dates or times that a format can write");
      if (format.has_short_year() && c.hi - c.lo >= 36524 * a_day)
        return wrong(
            "years of two digits need bounds that are less than 100 years apart: a year is the one within "
            "them");
    }
    for (const std::string* code : {&c.notation.top_code, &c.notation.bottom_code}) {
      if (code->empty()) continue;
      if (*code != plain_text(*code))
        return wrong(fmt::format("\"{}\" has blanks around it, or is not in NFC", *code));
      if (NumberText(c.type, c.notation, c.decimals, c.lo).parse(*code))
        return wrong(fmt::format("\"{}\" is a number, and no code of a bound", *code));
      if (c.notation.top_code == c.notation.bottom_code ||
          std::find(c.spellings.begin(), c.spellings.end(), *code) != c.spellings.end())
        return wrong(fmt::format("\"{}\" stands for two of its values", *code));
    }
    if (!c.notation.top_code.empty() && !c.notation.bottom_code.empty() && c.lo == c.hi)
      return wrong("one value has two codes");
    const ColumnText text(c);
    for (const double value : {c.lo, c.hi, c.lo + std::floor((c.hi - c.lo) / c.step / 2) * c.step}) {
      std::string written;
      text.write_number(value, written);
      const auto read = text.number(plain_text(written));
      if (!read || std::abs(*read - value) > c.step / 4)
        return wrong(fmt::format(
            "its notation contradicts itself: {} would be written \"{}\", which is not that number",
            exact_text(value), written));
    }
    return true;
  }

  template <class Say>
  void categories(const Column& c, const Say& say) {
    if (c.values.empty()) return say("it lists no values");
    std::set<std::string> spelt;
    const auto once = [&](const std::string& text) {
      if (!spelt.insert(text).second) say(fmt::format("\"{}\" stands for two of its values", text));
    };
    for (const Category& v : c.values) {
      once(v.name);
      for (const std::string& alias : v.aliases) once(alias);
    }
    if (c.missing) {
      for (const std::string& s : c.spellings) once(s);
    }
  }

  void roles() {
    std::size_t labels = 0, persons = 0, features = 0;
    for (const Column& c : table_.columns) {
      if (c.is_unread()) {
        if (c.role != ColumnRole::kFeature)
          add(fmt::format("column '{}' has a role and is {}", c.name,
                          c.type == ColumnType::kKey ? "a key, of which nothing is read" : "ignored"));
        continue;
      }
      features += c.is_feature() && !c.is_person() ? 1 : 0;
      persons += c.is_person() ? 1 : 0;
      if (!c.is_label()) continue;
      ++labels;
      if (c.is_number()) add(fmt::format("column '{}': a label must be categories, not numbers", c.name));
      if (c.missing)
        add(fmt::format("column '{}': a label may not be missing; list the missing value among its values",
                        c.name));
      if (c.values.size() > kMostLabelValues)
        add(fmt::format("column '{}': a label has at most {} values", c.name, kMostLabelValues));
    }
    if (labels > 1) add("two columns have the role label");
    if (persons > 1) add("two columns have the role person");
    if (features == 0 && !table_.columns.empty())
      add("no column is left to learn from: all are ignored, keys, the label or the person");
  }

  void constraint(std::size_t index, const Constraint& c) {
    const bool there = std::ranges::all_of(c.columns, [&](auto j) { return j < table_.columns.size(); });
    const std::string name = c.kind == Kind::kAmong && there ? constraint_name(table_, index)
                                                             : fmt::format("constraint {}", index + 1);
    const auto say = [&](const std::string& what) { add(fmt::format("{}: {}", name, what)); };
    std::set<std::size_t> seen;
    for (const std::size_t j : c.columns) {
      if (j >= table_.columns.size()) return say("names a column that is not there");
      const Column& column = table_.columns[j];
      if (column.time_of) return say(fmt::format("column '{}' is but the time of a datetime", column.name));
      if (column.is_person())
        return say(fmt::format("column '{}' is the person: no rule holds of it", column.name));
      if (!column.is_sampled())
        return say(fmt::format("column '{}' is not among the synthetic columns", column.name));
      if (column.is_unread())
        return say(fmt::format("column '{}' is a key: no rule holds of it", column.name));
      if (column.follows())
        return say(fmt::format("column '{}' follows from others: write the rule of these", column.name));
      if (column.since && c.kind != Kind::kImplies && c.kind != Kind::kAmong)
        return say(fmt::format(
            "column '{}' counts since '{}': its lo and hi say how much later it is, and no other comparison "
            "or sum holds of it",
            column.name, table_.columns[*column.since].name));
      if (!seen.insert(j).second) return say(fmt::format("names column '{}' twice", column.name));
    }
    if (is_by_the_second(table_, c)) {
      for (const std::size_t j : c.columns) {
        if (table_.columns[j].is_day())
          return say(fmt::format(
              "column '{}' is a day and a time of day, and the constraint compares it by the second",
              table_.columns[j].name));
      }
    }
    if (c.kind == Kind::kAmong) return combinations(index, c);
    const auto at = [&](std::size_t k) -> const Column& { return table_.columns[c.columns[k]]; };
    for (std::size_t k = 0; c.kind != Kind::kImplies && k < c.columns.size(); ++k) {
      if (!at(k).is_number()) continue;
      // A date and a datetime are compared by the day.
      const bool by_day = c.kind == Kind::kCompare && c.columns.size() == 2 && at(0).type != at(1).type;
      const bool exact = c.kind == Kind::kSum || (c.op == Constraint::Op::kEqual && !by_day);
      if (!exact && widest_bin(at(k)) > kMostInABin)
        return say(fmt::format(
            "column '{}' has more than {} values in a bin, too many for a rule: write more bins, or "
            "a larger step",
            at(k).name, kMostInABin));
      if (exact && widest_bin(at(k)) > kMostTold / (at(k).codes() + 2))
        return say(
            fmt::format("column '{}' has too many values for a sum or an equality to hold to the last digit, "
                        "about {} at most: "
                        "give it a larger step (of times, 60 or more seconds)",
                        at(k).name, kMostTold));
    }
    if (c.kind == Kind::kCompare) {
      if (c.columns.size() != (c.value ? 1U : 2U)) return say("compares two columns, or one and a value");
      for (std::size_t k = 0; k < c.columns.size(); ++k) {
        if (!at(k).is_number()) return say(fmt::format("column '{}' is no number", at(k).name));
      }
      const auto days = [&](std::size_t k) {
        return at(k).type == ColumnType::kDate || at(k).type == ColumnType::kDatetime;
      };
      if (!c.value && at(0).type != at(1).type && (at(0).is_temporal() || at(1).is_temporal()) &&
          !(days(0) && days(1)))
        return say(fmt::format("columns '{}' and '{}' are of different types", at(0).name, at(1).name));
    } else if (c.kind == Kind::kSum) {
      if (c.columns.size() < 3) return say("a sum needs a total and at least two parts");
      for (std::size_t k = 0; k < c.columns.size(); ++k) {
        if (at(k).type != ColumnType::kInteger && at(k).type != ColumnType::kDecimal)
          return say(fmt::format("column '{}' is no number that can be added", at(k).name));
        if (at(k).step != at(0).step || at(k).decimals != at(0).decimals)
          return say("all columns of a sum need the same step");
        const double steps = at(k).lo / at(k).step;
        if (std::abs(steps - std::round(steps)) > 1e-6)
          return say(fmt::format("column '{}': in a sum, lo must be a whole number of steps", at(k).name));
      }
    } else {
      if (c.columns.size() != 2) return say("an implication has two columns");
      if (c.when.empty() || c.then.empty()) return say("an implication needs values on both sides");
      for (std::size_t k = 0; k < 2; ++k) {
        for (const std::uint32_t code : k == 0 ? c.when : c.then) {
          if (code >= at(k).codes()) return say(fmt::format("a value that column '{}' lacks", at(k).name));
        }
      }
    }
  }

  void combinations(std::size_t index, const Constraint& c) {
    if (c.columns.size() != 2) return add("combinations are of two columns");
    const auto say = [&](const std::string& what) {
      add(fmt::format("{}: {}", constraint_name(table_, index), what));
    };
    for (std::size_t other = 0; other < index; ++other) {
      const Constraint& before = table_.constraints[other];
      if (before.kind == Kind::kAmong && std::ranges::is_permutation(before.columns, c.columns))
        return say("these columns are combined twice");
    }
    const Column* const sides[] = {&table_.columns[c.columns[0]], &table_.columns[c.columns[1]]};
    for (const Column* side : sides) {
      if (side->is_number())
        return say(fmt::format("column '{}' is a number, and only categories are combined", side->name));
    }
    pairs_ += sides[0]->codes() * sides[1]->codes();
    if (pairs_ > kMostCombinations)
      return say(fmt::format("with it the lists are about more than {} pairs of values, allowed or not",
                             kMostCombinations));
    allowed_ += c.allowed.size();
    if (allowed_ > kMostAllowed)
      return say(fmt::format("with it the lists allow more than {} combinations", kMostAllowed));
    std::vector<bool> used[] = {std::vector<bool>(sides[0]->bins()), std::vector<bool>(sides[1]->bins())};
    for (std::size_t i = 0; i < c.allowed.size(); ++i) {
      const auto [first, second] = c.allowed[i];
      if (first >= used[0].size() || second >= used[1].size())
        return say("a value that its column lacks, or a missing one");
      if (i > 0 && !(c.allowed[i - 1] < c.allowed[i]))
        return say("they are not in order, or one is there twice");
      used[0][first] = used[1][second] = true;
    }
    for (std::size_t k = 0; k < 2; ++k) {
      const auto none = std::ranges::find(used[k], false);
      if (none == used[k].end() || sides[1 - k]->missing) continue;
      say(fmt::format(
          "\"{}\" of column '{}' goes with no value of column '{}': list what it goes with, or leave it "
          "out of "
          "the column's values",
          sides[k]->values[static_cast<std::size_t>(none - used[k].begin())].name, sides[k]->name,
          sides[1 - k]->name));
    }
  }

  static std::uint64_t widest_bin(const Column& c) {
    const Grid grid(c);
    std::uint64_t widest = 0;
    for (std::uint32_t b = 0; b < c.bins(); ++b) widest = std::max(widest, grid.first(b + 1) - grid.first(b));
    return widest;
  }

  const Table& table_;
  std::vector<std::string> out_;
  std::size_t pairs_ = 0, allowed_ = 0;  ///< of all lists of combinations so far
};

}  // namespace

std::vector<std::string> Table::problems() const { return Checks(*this).run(); }

}  // namespace muffle::schema
