#include "table_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"

namespace muffle::features {
namespace {

constexpr settings::Range kTableWeights{1e-3, 1e3};
/// As many bins as a learned column is thought to get, where nothing was learned yet.
constexpr double kLearnedBins = 32;
/// Of pairs with the target (schema::ColumnRole): what classifiers are to learn of few records
/// (docs/explanation/pairs.md, "a label of few records").
constexpr double kTargetWeight = 2.0;
/// Of the table of which rows of its person's a record is, until the others' are known.
constexpr double kUnsaid = -1.0;

/// The text of columns, "a:b"; names may hold ':' themselves. None: some part is no column's name.
std::optional<std::vector<std::size_t>> columns_in(std::string_view text,
                                                   const std::vector<std::string>& names, bool any) {
  const auto known = [&](std::string_view name) -> std::optional<std::size_t> {
    if (any && name == "*") return kAnyColumn;
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return static_cast<std::size_t>(at - names.begin());
  };
  if (const auto column = known(text)) return std::vector{*column};
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    const auto head = known(text.substr(0, colon));
    if (!head) continue;
    if (auto rest = columns_in(text.substr(colon + 1), names, any)) {
      rest->insert(rest->begin(), *head);
      return rest;
    }
  }
  return std::nullopt;
}

/// "a:b=2": the columns' part and the weight; below 0: there is none that may be.
std::pair<std::string_view, double> split_weight(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return {text, -1.0};
  double weight = -1.0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + equals + 1, end, weight);
  if (read.ec != std::errc{} || read.ptr != end || !(weight == 0.0 || kTableWeights.has(weight)))
    weight = -1.0;
  return {text.substr(0, equals), weight};
}

/// Does the table hold these columns and, for every kAnyColumn, another one?
bool holds(const CountTable& table, const std::vector<std::size_t>& columns) {
  if (columns.size() != table.columns.size()) return false;
  return std::all_of(columns.begin(), columns.end(), [&](std::size_t column) {
    return column == kAnyColumn || std::ranges::binary_search(table.columns, column);
  });
}

bool different(std::vector<std::size_t> columns) {
  std::ranges::sort(columns);
  return std::ranges::adjacent_find(columns, [](std::size_t a, std::size_t b) {
           return a == b && a != kAnyColumn;
         }) == columns.end();
}

std::string columns_listed(const CountedColumns& columns) {
  return fmt::format(
      "the columns are {}{}", fmt::join(columns.names, ", "),
      columns.label.empty()
          ? ""
          : fmt::format("; \"{}\", the label, is none: each of its values has tables of its own "
                        "(data.label_as)",
                        columns.label));
}

/// Which of its person's a record is; where no text of the settings gave its table a weight.
void weigh_rows(const CountedColumns& columns, CountTables& all, settings::Problems& problems) {
  if (!all.row_number) return;
  const auto own = std::ranges::find_if(all.tables, [&](const CountTable& t) { return all.counts_rows(t); });
  if (own == all.tables.end()) {
    problems.add(
        fmt::format("the schema has rows of a person counted ('{}'), and its table is left out: leave "
                    "'rows' out of the schema",
                    columns.names[*all.row_number]));
  } else if (own->weight == kUnsaid) {
    double others = 0;
    for (const CountTable& table : all.tables) others += &table == &*own ? 0.0 : table.weight * table.weight;
    own->weight = CountTables::rows_weight(others);
  }
}

void weigh(const TableChoice& choice, const CountedColumns& columns, CountTables& all,
           settings::Problems& problems) {
  for (const std::string& text : choice.weights) {
    const auto [left, weight] = split_weight(text);
    const auto named = columns_in(left, columns.names, true);
    if (!named || !different(*named)) {
      problems.add(
          fmt::format("weights: \"{}\" names no different columns; {}", text, columns_listed(columns)));
      continue;
    }
    bool fits = false;
    for (CountTable& table : all.tables) {
      if (!holds(table, *named) || (all.counts_rows(table) && *named != table.columns)) continue;
      fits = true;
      table.weight = weight;
    }
    problems.unless(fits, fmt::format("weights: \"{}\" fits no table that is counted", text));
  }
  std::erase_if(all.tables, [](const CountTable& table) { return table.weight == 0.0; });
  if (!problems.empty()) return;
  weigh_rows(columns, all, problems);
  problems.unless(!all.tables.empty(),
                  "nothing is counted: every table's weight is 0, or every column left out");
  problems.unless(all.tables.size() <= kMostCountTables,
                  fmt::format("{} tables are more than {}: leave out some columns, or give pairs weight 0",
                              all.tables.size(), kMostCountTables));
  for (const CountTable& table : all.tables) {
    if (kTableWeights.has(table.weight)) continue;
    problems.add(
        fmt::format("singles is {}, neither 0 nor {}", exact_text(choice.singles), kTableWeights.text()));
    return;
  }
}

void require_few_cells(const std::vector<std::string>& names, const CountTables& all) {
  const double cells = cells_of(all, Learned::kInGroups);
  if (cells <= static_cast<double>(kMostCountedCells)) return;
  std::size_t bins = std::size_t{1} << 24;
  while (bins > 1 && cells_of(all, Learned::kInGroups, static_cast<double>(bins)) >
                         static_cast<double>(kMostCountedCells))
    bins /= 2;
  std::string wide;
  for (std::size_t j = 0; j < names.size(); ++j) {
    const bool counted = std::ranges::any_of(
        all.tables, [&](const CountTable& t) { return std::ranges::binary_search(t.columns, j); });
    const bool learned = !all.grid_cells.empty() && all.grid_cells[j] > 0;
    if (counted && !learned && all.codes[j] > bins)
      wide += fmt::format("{}{} ({})", wide.empty() ? "" : ", ", names[j], all.codes[j]);
  }
  throw ConfigError(fmt::format(
      "the tables have {:.3g} cells a class, more than {}. With at most {} bins or categories a column they "
      "would have {:.3g}; wider are {}. Give those fewer bins in the schema, or leave them out.",
      cells, kMostCountedCells, bins, cells_of(all, Learned::kInGroups, static_cast<double>(bins)), wide));
}

}  // namespace

std::string wrong_weight(const std::string& text) {
  if (split_weight(text).second >= 0.0) return {};
  return fmt::format("does not end with = and a weight that is 0 or {}", kTableWeights.text());
}

double cells_of(const CountTables& all, Learned learned, double most) {
  double cells = 0.0;
  for (const CountTable& table : all.tables) {
    double own = 1.0;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const bool grouped = !table.groups.empty() && !table.groups[c].empty();
      const bool later = learned == Learned::kInGroups && table.columns.size() > 1 && !grouped &&
                         !all.grid_cells.empty() && all.grid_cells[table.columns[c]] > 0;
      own *= std::min({static_cast<double>(table.size(c, all.codes)), most, later ? kLearnedBins : 1e300});
    }
    cells += own;
  }
  return cells;
}

std::string wrong_table(const CountTable& table, const std::vector<std::size_t>& codes) {
  if (table.columns.empty() || table.columns.size() > 3 || table.columns.back() >= codes.size() ||
      std::ranges::adjacent_find(table.columns, std::greater_equal<>()) != table.columns.end())
    return "does not name one to three different columns in their order";
  if (!kTableWeights.has(table.weight)) return "has a weight that is not " + kTableWeights.text();
  if (table.groups.empty()) return {};
  if (table.groups.size() != table.columns.size() ||
      std::ranges::all_of(table.groups, [](const auto& of) { return of.empty(); }))
    return "has groups for other columns than it names";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::vector<std::uint32_t>& of = table.groups[c];
    if (of.empty()) continue;
    if (of.size() != codes[table.columns[c]]) return "has groups for another number of codes";
    std::vector<bool> used(of.size(), false);
    for (const std::uint32_t group : of) {
      if (group >= of.size()) return "has a group whose number is above those of the codes";
      used[group] = true;
    }
    if (std::ranges::find(used, false) != used.begin() + static_cast<std::ptrdiff_t>(table.size(c, codes)))
      return "has a group without a code";
  }
  return {};
}

CountTables choose_tables(const TableChoice& choice, const CountedColumns& columns,
                          std::vector<std::size_t> codes, std::vector<std::size_t> grid_cells) {
  const std::string listed = columns_listed(columns);
  settings::Problems problems;
  CountTables all{std::move(codes), {}, std::move(grid_cells), columns.row_number};
  const std::size_t d = columns.names.size();
  problems.unless(
      d <= kMostCounted,
      fmt::format("the table has {} columns, more than {}: leave some out of the schema", d, kMostCounted));
  std::vector<bool> counted(d, true);
  for (const std::string& name : choice.leave_out) {
    const auto at = std::ranges::find(columns.names, name);
    problems.unless(at != columns.names.end(),
                    fmt::format("leave_out: there is no column \"{}\"; {}", name, listed));
    if (at != columns.names.end()) counted[static_cast<std::size_t>(at - columns.names.begin())] = false;
  }
  for (std::size_t a = 0; a < d && problems.empty(); ++a) {
    const bool rows = a == columns.row_number;
    if (counted[a]) all.tables.push_back({{a}, {}, rows ? kUnsaid : choice.singles});
    for (std::size_t b = a + 1; counted[a] && !rows && b < d; ++b) {
      if (counted[b] && b != columns.row_number)
        all.tables.push_back({{a, b}, {}, a == columns.target || b == columns.target ? kTargetWeight : 1.0});
    }
  }
  for (const std::string& text : choice.triples) {
    auto named = columns_in(text, columns.names, false);
    if (!named || named->size() != 3 || !different(*named) ||
        (columns.row_number && std::ranges::count(*named, *columns.row_number) > 0)) {
      problems.add(
          fmt::format("triples: \"{}\" is not three different columns, as in \"a:b:c\"; {}", text, listed));
      continue;
    }
    std::ranges::sort(*named);
    all.tables.push_back({std::move(*named)});
  }
  std::ranges::sort(all.tables, [](const CountTable& a, const CountTable& b) {
    return a.columns.size() != b.columns.size() ? a.columns.size() < b.columns.size() : a.columns < b.columns;
  });
  problems.unless(std::ranges::adjacent_find(all.tables, {}, &CountTable::columns) == all.tables.end(),
                  "triples: one is named twice");
  if (problems.empty()) weigh(choice, columns, all, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
  require_few_cells(columns.names, all);
  all.place();
  return all;
}

}  // namespace muffle::features
