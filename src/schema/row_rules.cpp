#include "muffle/schema/row_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::schema {
namespace {

using Kind = Constraint::Kind;
using Op = Constraint::Op;

bool compares(double a, Op op, double b) {
  switch (op) {
    case Op::kLess:
      return a < b;
    case Op::kAtMost:
      return a <= b;
    case Op::kAtLeast:
      return a >= b;
    case Op::kGreater:
      return a > b;
    case Op::kEqual:
      return a == b;
  }
  return false;
}

/// a op b, said of b.
Op mirrored(Op op) {
  switch (op) {
    case Op::kLess:
      return Op::kGreater;
    case Op::kAtMost:
      return Op::kAtLeast;
    case Op::kAtLeast:
      return Op::kAtMost;
    case Op::kGreater:
      return Op::kLess;
    case Op::kEqual:
      break;
  }
  return Op::kEqual;
}

/// Which indices of a grid have values that compare so to `bound`: the first and the one behind the last.
/// @param unit  the values count as whole multiples of it; 0: as they are
std::pair<std::uint64_t, std::uint64_t> indices(const Grid& grid, Op op, double bound, double unit) {
  const auto first_where = [&](const auto& holds) {
    std::uint64_t low = 0, high = grid.count();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const double value = grid.value(middle);
      if (holds(unit > 0 ? std::floor(value / unit) : value)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const std::uint64_t at_least = first_where([&](double v) { return v >= bound; });
  const std::uint64_t above = first_where([&](double v) { return v > bound; });
  switch (op) {
    case Op::kLess:
      return {0, at_least};
    case Op::kAtMost:
      return {0, above};
    case Op::kAtLeast:
      return {at_least, grid.count()};
    case Op::kGreater:
      return {above, grid.count()};
    case Op::kEqual:
      break;
  }
  return {at_least, above};
}

bool among(const std::vector<std::uint32_t>& codes, std::uint32_t code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

RowRules::RowRules(const Table& table)
    : table_(table), features_(table.features()), codes_(table.codes()), label_(table.label()) {
  for (const Constraint& rule : table_.constraints) {
    for (const std::size_t j : rule.columns) {
      if (table_.columns[j].is_number()) grids_.try_emplace(j, table_.columns[j]);
    }
  }
  if (empty()) return;
  order_lists();
  const std::size_t classes = label_ ? table_.columns[*label_].values.size() : 1;
  for (std::size_t c = 0; c < classes; ++c) {
    std::optional<Row> good = row_that_keeps_all(c);
    if (!good) {
      contradiction_ = fmt::format("{} contradict each other: muffle finds no row", rules_name());
      if (label_)
        contradiction_ += fmt::format(" with {} = \"{}\"", table_.columns[*label_].name,
                                      table_.columns[*label_].values[c].name);
      contradiction_ += " that keeps them all";
      return;
    }
    known_good_.push_back(std::move(*good));
  }
}

std::string RowRules::rules_name() const {
  if (lists_.empty()) return "the constraints";
  return lists_.size() < table_.constraints.size() ? "the constraints and lists of combinations"
                                                   : "the lists of combinations";
}

/// Of a class: a few rows are mended, and where lists may form rings, some random ones.
std::optional<RowRules::Row> RowRules::row_that_keeps_all(std::size_t label) const {
  constexpr std::array kAt{0.5, 0.0, 1.0, 0.25, 0.75};
  constexpr std::size_t kRandom = 32;
  std::mt19937 random;  // the same on every machine
  for (std::size_t start = 0; start < kAt.size() + (lists_.size() > 2 ? kRandom : 0); ++start) {
    Row row(table_.columns.size());
    for (const std::size_t j : features_) {
      const std::size_t bins = table_.columns[j].bins();
      const auto code = static_cast<std::uint32_t>(
          start < kAt.size()
              ? std::min(static_cast<double>(bins - 1), std::floor(kAt[start] * static_cast<double>(bins)))
              : static_cast<double>(random() % bins));
      const std::size_t codes = table_.columns[j].codes();
      row[j] = cell_at(position({code, 0.5f}, codes), codes);  // as it will be written
    }
    if (label_) row[*label_].code = static_cast<std::uint32_t>(label);
    if (repair_all(row)) return row;
  }
  return std::nullopt;
}

bool RowRules::missing(std::size_t column, std::span<const Cell> row) const {
  const Column& c = table_.columns[column];
  return c.missing && row[column].code >= c.missing_code();
}

double RowRules::value(std::size_t column, std::span<const Cell> row) const {
  const Grid& g = grid(column);
  return g.value(g.index_of(row[column]));
}

bool RowRules::keeps(const Constraint& rule, std::span<const Cell> row) const {
  if (rule.kind == Kind::kImplies)
    return !among(rule.when, row[rule.columns[0]].code) || among(rule.then, row[rule.columns[1]].code);
  for (const std::size_t j : rule.columns) {
    if (missing(j, row)) return true;
  }
  if (rule.kind == Kind::kAmong)
    return std::ranges::binary_search(rule.allowed,
                                      CodePair(row[rule.columns[0]].code, row[rule.columns[1]].code));
  if (rule.kind == Kind::kCompare)
    return compares(compared(rule, rule.columns[0], row), rule.op,
                    rule.value ? *rule.value : compared(rule, rule.columns[1], row));
  double parts = 0.0;
  for (std::size_t k = 1; k < rule.columns.size(); ++k) parts += value(rule.columns[k], row);
  return std::abs(parts - value(rule.columns[0], row)) < table_.columns[rule.columns[0]].step / 2;
}

std::string constraint_name(const Table& table, std::size_t index) {
  std::string names;
  for (const std::size_t j : table.constraints[index].columns)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", table.columns[j].name);
  return table.constraints[index].kind == Kind::kAmong
             ? fmt::format("the list of combinations of {}", names)
             : fmt::format("constraint {} (of {})", index + 1, names);
}

std::optional<std::size_t> RowRules::broken(std::span<const Cell> row) const {
  for (std::size_t i = 0; i < table_.constraints.size(); ++i) {
    if (!keeps(table_.constraints[i], row)) return i;
  }
  return std::nullopt;
}

/// Days, of a datetime that is compared with a date.
double RowRules::unit(const Constraint& rule, std::size_t column) const {
  const auto is = [&](std::size_t j, ColumnType type) { return table_.columns[j].type == type; };
  if (rule.columns.size() < 2 || !is(column, ColumnType::kDatetime)) return 0.0;
  return is(rule.columns[0], ColumnType::kDate) || is(rule.columns[1], ColumnType::kDate) ? kSecondsADay
                                                                                          : 0.0;
}

double RowRules::compared(const Constraint& rule, std::size_t column, std::span<const Cell> row) const {
  const double days = unit(rule, column), v = value(column, row);
  return days > 0 ? std::floor(v / days) : v;
}

/// Takes the column to the nearest value that compares so to the bound, of those that a position can tell
/// from others: float32 has not as many as a year has seconds. @returns whether there is one.
bool RowRules::move(const Constraint& rule, std::size_t column, Op op, double bound, Row& row) const {
  constexpr int kMostSteps = 26;
  const Grid& g = grid(column);
  const auto [first, end] = indices(g, op, bound, unit(rule, column));
  if (first >= end) return false;
  const std::size_t codes = table_.columns[column].codes();
  const std::uint64_t now = g.index_of(row[column]), start = std::clamp(now, first, end - 1);
  const auto settled = [&](Cell cell) { return cell_at(position(cell, codes), codes); };
  // From the edge inwards, by ever larger steps.
  std::uint64_t distance = 0;
  for (int step = 0; step < kMostSteps && distance < end - first; ++step, distance = 2 * distance + 1) {
    const std::uint64_t index = now >= end ? end - 1 - distance : start + std::min(distance, end - 1 - start);
    const Cell cell = settled(g.cell(index));
    const auto inside = [&g, from = first, to = end](Cell c) {
      return g.index_of(c) >= from && g.index_of(c) < to;
    };
    if (!inside(cell) || !inside(settled(cell))) continue;
    row[column] = cell;
    return true;
  }
  return false;
}

void RowRules::repair_comparison(const Constraint& rule, Row& row) const {
  const std::size_t a = rule.columns[0];
  if (rule.value) {
    move(rule, a, rule.op, *rule.value, row);
    return;
  }
  const std::size_t b = rule.columns[1];
  if (move(rule, b, mirrored(rule.op), compared(rule, a, row), row) ||
      move(rule, a, rule.op, compared(rule, b, row), row))
    return;
  // Both have to move: the right one as far as it can.
  const bool up = rule.op == Op::kLess || rule.op == Op::kAtMost;
  const std::size_t codes = table_.columns[b].codes();
  row[b] = cell_at(position(grid(b).cell(up ? grid(b).count() - 1 : 0), codes), codes);
  move(rule, a, rule.op, compared(rule, b, row), row);
}

void RowRules::repair_sum(const Constraint& rule, Row& row) const {
  const std::size_t total = rule.columns[0];
  double parts = 0.0;
  for (std::size_t k = 1; k < rule.columns.size(); ++k) parts += value(rule.columns[k], row);
  row[total] = grid(total).cell(grid(total).index(parts));
  double over = parts - value(total, row);
  for (std::size_t k = rule.columns.size(); k-- > 1 && std::abs(over) >= table_.columns[total].step / 2;) {
    const std::size_t j = rule.columns[k];
    const double before = value(j, row);
    row[j] = grid(j).cell(grid(j).index(before - over));
    over -= before - value(j, row);
  }
}

/// Lists outwards from their roots, breadth first, each once: the label, and else the first column of the
/// first list that is left.
void RowRules::order_lists() {
  for (std::size_t i = 0; i < table_.constraints.size(); ++i) {
    if (table_.constraints[i].kind != Kind::kAmong) continue;
    for (const std::size_t j : table_.constraints[i].columns) rules_of_[j].push_back(i);
  }
  std::set<std::size_t> listed;
  const auto go_out_from = [&](std::size_t root) {
    std::vector<std::size_t> reached{root};
    for (std::size_t k = 0; k < reached.size(); ++k) {
      for (const std::size_t i : rules_of_.at(reached[k])) {
        if (!listed.insert(i).second) continue;
        const Constraint& rule = table_.constraints[i];
        const std::size_t far = rule.columns[rule.columns[0] == reached[k] ? 1 : 0];
        List& list = lists_.emplace_back(List{i, reached[k], far, {}});
        for (const CodePair& pair : rule.allowed) list.turned.emplace_back(pair.second, pair.first);
        std::ranges::sort(list.turned);
        reached.push_back(far);
      }
    }
  };
  if (label_ && rules_of_.contains(*label_)) go_out_from(*label_);
  for (std::size_t i = 0; i < table_.constraints.size(); ++i) {
    if (table_.constraints[i].kind == Kind::kAmong && !listed.contains(i))
      go_out_from(table_.constraints[i].columns[0]);
  }
}

bool RowRules::keeps_lists_of(std::size_t column, std::span<const Cell> row) const {
  return std::ranges::all_of(rules_of_.at(column),
                             [&](std::size_t i) { return keeps(table_.constraints[i], row); });
}

/// The column becomes the next code, in the schema's order and round its end, that goes with the other's (so
/// the rows of an impossible code do not all become one): of the first few the one that keeps all lists of
/// the column, if any does. A code that goes with none (Table::problems()) goes with a missing value.
void RowRules::repair_among(const List& list, bool outwards, Row& row) const {
  constexpr std::ptrdiff_t kMostTried = 256;
  const bool far = outwards || list.near == label_;
  const std::size_t moved = far ? list.far : list.near, kept = far ? list.near : list.far;
  const Constraint& rule = table_.constraints[list.rule];
  const std::vector<CodePair>& pairs = moved == rule.columns[1] ? rule.allowed : list.turned;
  const CodePair own(row[kept].code, row[moved].code);
  // Those of the other column's code. (clang 14 cannot read a std::ranges::subrange.)
  constexpr std::uint32_t kLast = ~std::uint32_t{0};
  const auto begin = std::ranges::lower_bound(pairs, CodePair(own.first, 0)),
             end = std::ranges::upper_bound(pairs, CodePair(own.first, kLast));
  const auto become = [&](std::uint32_t code) { row[moved] = {code, 0.5f}; };
  if (begin == end) {
    if (table_.columns[moved].missing) become(table_.columns[moved].missing_code());
    return;
  }
  const std::ptrdiff_t count = end - begin, next = std::upper_bound(begin, end, own) - begin;
  for (std::ptrdiff_t k = 0; k < std::min(count, kMostTried); ++k) {
    become(begin[(next + k) % count].second);
    if (keeps_lists_of(moved, row)) return;
  }
  become(begin[next % count].second);
}

void RowRules::repair(const Constraint& rule, Row& row) const {
  if (rule.kind == Kind::kCompare) return repair_comparison(rule, row);
  if (rule.kind == Kind::kSum) return repair_sum(rule, row);
  const auto become = [&](std::size_t column, std::uint32_t code) { row[column] = {code, 0.5f}; };
  const std::size_t a = rule.columns[0], b = rule.columns[1];
  if (b != label_) return become(b, rule.then.front());
  for (std::uint32_t code = 0; code < table_.columns[a].codes(); ++code) {
    if (!among(rule.when, code)) return become(a, code);
  }
}

bool RowRules::repair_all(Row& row) const {
  for (std::size_t pass = 0; pass < table_.constraints.size() + 8; ++pass) {
    const auto first = broken(row);
    if (!first) return true;
    for (std::size_t i = *first; i < table_.constraints.size(); ++i) {
      const Constraint& rule = table_.constraints[i];
      if (rule.kind != Kind::kAmong && !keeps(rule, row)) repair(rule, row);
    }
    // Outwards all lists hold in one pass, unless they form rings or other rules move their columns.
    const bool outwards = pass % 2 == 0;
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      const List& list = lists_[outwards ? k : lists_.size() - 1 - k];
      if (!keeps(table_.constraints[list.rule], row)) repair_among(list, outwards, row);
    }
  }
  return !broken(row);
}

RowRules::Row RowRules::row_of(std::span<const float> numbers, std::int64_t label) const {
  require(numbers.size() == features_.size() && contradiction_.empty() &&
              (!label_ || (label >= 0 && static_cast<std::size_t>(label) < known_good_.size())),
          "a row of another table");
  Row row(table_.columns.size());
  for (std::size_t k = 0; k < features_.size(); ++k) row[features_[k]] = cell_at(numbers[k], codes_[k]);
  if (label_) row[*label_].code = static_cast<std::uint32_t>(label);
  return row;
}

std::vector<std::size_t> RowRules::all_broken(std::span<const float> numbers, std::int64_t label) const {
  std::vector<std::size_t> out;
  if (empty()) return out;
  const Row row = row_of(numbers, label);
  for (std::size_t i = 0; i < table_.constraints.size(); ++i) {
    if (!keeps(table_.constraints[i], row)) out.push_back(i);
  }
  return out;
}

void RowRules::mend(std::span<float> numbers, std::int64_t label) const {
  if (empty()) return;
  Row row = row_of(numbers, label);
  if (!broken(row)) return;
  const Row before = row;
  if (!repair_all(row)) row = known_good_[label_ ? static_cast<std::size_t>(label) : 0];
  for (std::size_t k = 0; k < features_.size(); ++k) {
    const Cell &was = before[features_[k]], &is = row[features_[k]];
    if (was.code != is.code || was.fraction != is.fraction) numbers[k] = position(is, codes_[k]);
  }
}

}  // namespace muffle::schema
