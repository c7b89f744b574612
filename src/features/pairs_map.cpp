// Counts of pairs of a table's columns, of single ones, and of triples on request (docs/explanation/pairs.md;
// muffle/features/pairs.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/pairs.hpp"
#include "pairs_block.hpp"

namespace muffle::features {
namespace {

constexpr settings::Range kWeights{1e-3, 1e3};
constexpr std::size_t kMostColumns = 4096;
/// Of one class. Wider tables would hold noise alone.
constexpr std::size_t kMostCells = std::size_t{1} << 24;
/// The same of what rounds choose from, where bins are learned: nothing is counted on all cells of a grid.
constexpr double kMostStated = 0x1p50;
/// As many bins as a learned column is thought to get, where nothing was learned yet.
constexpr double kLearnedBins = 32;
/// Of pairs with the target (schema::ColumnRole): what classifiers are to learn of few records
/// (docs/explanation/pairs.md, "a label of few records").
constexpr double kTargetWeight = 2.0;
/// Stands for any column in a weight's text.
constexpr std::size_t kAnyColumn = ~std::size_t{0};

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
  if (read.ec != std::errc{} || read.ptr != end || !(weight == 0.0 || kWeights.has(weight))) weight = -1.0;
  return {text.substr(0, equals), weight};
}

std::string wrong_weight(const std::string& text) {
  if (split_weight(text).second >= 0.0) return {};
  return fmt::format("does not end with = and a weight that is 0 or {}", kWeights.text());
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

/// How the tables of several columns are counted that have a column whose bins are learned.
enum class Learned {
  kAsTheyAre,  ///< on their groups, or all cells of the grid
  kInGroups,   ///< later, on groups of its cells: what is stated is what rounds choose from
};

/// Of one class, as a double, so that nothing can overflow. @param most  a column is counted with no more
/// codes than this
double cells_of(const CountTables& all, Learned learned, double most = 1e300) {
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

/// Two tables of a map differ in their columns or in their groups.
using TableKey = std::pair<std::vector<std::size_t>, std::vector<std::vector<std::uint32_t>>>;
TableKey key_of(const CountTable& table) { return {table.columns, table.groups}; }

/// CountTables::grid_cells.
std::vector<std::size_t> grid_cells_of(const schema::Table& table) {
  std::vector<std::size_t> out;
  for (const std::size_t j : table.features())
    out.push_back(table.columns[j].learned ? table.columns[j].bins() : 0);
  if (std::ranges::all_of(out, [](std::size_t cells) { return cells == 0; })) out.clear();
  return out;
}

/// What is wrong with a table that was not chosen here; empty: nothing.
std::string wrong_table(const CountTable& table, const std::vector<std::size_t>& codes) {
  if (table.columns.empty() || table.columns.size() > 3 || table.columns.back() >= codes.size() ||
      std::ranges::adjacent_find(table.columns, std::greater_equal<>()) != table.columns.end())
    return "does not name one to three different columns in their order";
  if (!kWeights.has(table.weight)) return "has a weight that is not " + kWeights.text();
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

class PairsMap final : public FeatureMap, private TableFeatures {
 public:
  std::string_view kind() const override { return "pairs"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<PairsMap>(*this); }

  void declare(settings::Keys& keys) override {
    keys.number("singles", singles_, {0, 1e3},
                "weight of the counts of every single column, beside pairs of weight 1; 0: none");
    keys.texts("leave_out", leave_out_, "[\"fnlwgt\"]", "columns that are not counted");
    keys.texts("weights", weights_, "[\"age:sex=2.5\", \"age=3\", \"age:*=0\"]",
               "weights of single tables, the last that fits holds; *: any column; 0: not counted",
               wrong_weight);
    keys.texts("triples", triples_, "[\"age:sex:education\"]", "triples of columns that are counted, too");
  }

  void resolve(const schema::Schema& schema) override {
    if (!schema.table)
      throw ConfigError(
          "it counts pairs of a table's columns, and the records are no table: set data.schema.");
    const std::vector<std::size_t> codes = schema.table->codes();
    names_.clear();
    target_ = kAnyColumn;
    for (const std::size_t j : schema.table->features()) {
      if (schema.table->target() == j) target_ = names_.size();
      names_.push_back(schema.table->columns[j].name);
    }
    const auto label = schema.table->label();
    label_ = label ? schema.table->columns[*label].name : "";
    classes_ = schema.classes;
    const std::vector<std::size_t> grid_cells = grid_cells_of(*schema.table);
    if (!stated_) choose_tables(codes, grid_cells);
    if (all_.codes != codes)
      throw ConfigError("its tables are of columns with other numbers of codes than the schema's.");
    if (all_.grid_cells != grid_cells)
      throw ConfigError("it learns the bins of other columns than the schema's.");
  }

  nlohmann::json to_json() const override {
    nlohmann::json tables = nlohmann::json::array();
    for (const CountTable& table : all_.tables) {
      tables.push_back({{"columns", table.columns}, {"weight", table.weight}});
      for (const std::vector<std::uint32_t>& groups : table.groups)
        tables.back()["groups"].push_back({{"of", groups}});
    }
    nlohmann::json out{{"codes", all_.codes}, {"tables", std::move(tables)}};
    if (all_.learns()) out["grid_cells"] = all_.grid_cells;
    return out;
  }

  void read_json(const JsonFields& f) override {
    f.only({"codes", "tables", "grid_cells"});
    all_ = {};
    all_.codes = f.sizes("codes", kMostColumns, 1, kMostCells);
    if (f.has("grid_cells")) {
      all_.grid_cells = f.sizes("grid_cells", kMostColumns, 0, kMostCells);
      if (all_.grid_cells.size() != all_.codes.size() || !all_.learns() ||
          !std::ranges::equal(all_.grid_cells, all_.codes, std::less_equal<>()))
        f.fail("grid_cells", "are not those of such columns");
    }
    std::set<TableKey> seen;
    for (const JsonFields& entry : f.objects("tables", kMostCountTables)) {
      entry.only({"columns", "weight", "groups"});
      CountTable table{entry.sizes("columns", 3, 0, all_.codes.size() - 1), {}, entry.number("weight")};
      if (entry.has("groups")) {
        for (const JsonFields& groups : entry.objects("groups", 3)) {
          groups.only({"of"});
          const std::vector<std::size_t> of = groups.sizes("of", kMostCells, 0, kMostCells - 1, true);
          table.groups.emplace_back(of.begin(), of.end());
        }
      }
      if (const std::string wrong = wrong_table(table, all_.codes); !wrong.empty())
        entry.fail("columns", wrong);
      if (!seen.insert(key_of(table)).second) entry.fail("columns", "names a table twice");
      all_.tables.push_back(std::move(table));
    }
    if (cells_of(all_, Learned::kInGroups) > kMostCells || cells_of(all_, Learned::kAsTheyAre) > kMostStated)
      f.fail("tables", "have more cells than this muffle counts");
    all_.lay_out();
    stated_ = true;
  }

  std::size_t dims() const override { return all_.codes.size(); }
  std::size_t features() const override { return all_.cells(); }

  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = true,
            .theorem =
                "Counts of tables: a record adds one number to one cell of every table, w_t / sqrt(W) for "
                "the table's weight w_t and W the sum of their squares, and 0 to all other cells, so its "
                "norm is at most 1 and no entry is negative; rounded down to the lattice, and checked in "
                "integers: the numbers' squares sum to at most 2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    long double cells = 0;
    for (const CountTable& table : all_.tables) {
      long double own = 1;
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        long double size = 0;  // by counting the groups, or the codes
        if (!table.groups.empty() && !table.groups[c].empty()) {
          size = static_cast<long double>(
              std::set<std::uint32_t>(table.groups[c].begin(), table.groups[c].end()).size());
        } else {
          size = static_cast<long double>(all_.codes[table.columns[c]]);
        }
        own *= size;
      }
      cells += own;
    }
    return {1, true, {{cells, std::pow(2.0L, lattice.bits)}}};
  }
  void require_no_overflow(std::uint64_t records, const Lattice& lattice) const override {
    features::require_no_overflow(records, lattice);
    all_.units(lattice);
  }

  MapCost cost() const override {
    return {2.0 * static_cast<double>(all_.tables.size()), 64 * all_.tables.size(),
            pairs_scratch_bytes(all_)};
  }
  double numbers_in_map() const override {
    return static_cast<double>(dims()) + 6.0 * static_cast<double>(all_.tables.size());
  }
  std::string hash() const override {
    std::vector<double> all;
    for (const std::size_t k : all_.codes) all.push_back(static_cast<double>(k));
    for (const std::size_t k : all_.grid_cells) all.push_back(static_cast<double>(k) + 0.25);
    for (const CountTable& table : all_.tables) {
      for (const std::size_t j : table.columns) all.push_back(static_cast<double>(j));
      all.push_back(-table.weight);  // below any column: where a table ends is seen
      for (const std::vector<std::uint32_t>& groups : table.groups) {
        all.push_back(static_cast<double>(groups.size()) + 0.5);  // no column's number
        all.insert(all.end(), groups.begin(), groups.end());
      }
    }
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(all)))));
  }

  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    auto small = std::make_unique<PairsMap>(*this);
    std::vector<CountTable>& tables = small->all_.tables;
    while (tables.size() > 1 && small->all_.cells() > features) tables.pop_back();
    small->stated_ = true;
    return small;
  }

  std::string outlook(double noise, double records) const override;
  std::vector<std::string> drowned(double noise) const override {
    std::vector<std::string> names;
    for (const Joint& joint : joints(noise)) {
      if (joint.drowned > 1.0) names.push_back(name_of(*joint.table));
    }
    return names;
  }

  /// Every record is in one cell of the first table: of all, that with the least noise in its sum.
  std::optional<CountsInside> counts_inside(const Lattice& lattice) const override {
    if (all_.tables.empty()) return CountsInside{};
    return CountsInside{all_.tables.front().cells, static_cast<double>(all_.first_unit(lattice))};
  }

  const TableFeatures* tables() const override { return this; }
  const CountTables& counted() const override { return all_; }
  std::shared_ptr<const FeatureMap> counting(std::vector<CountTable> tables) const override {
    std::set<TableKey> seen;
    for (CountTable& table : tables) {
      if (std::ranges::all_of(table.groups, [](const auto& of) { return of.empty(); })) table.groups.clear();
      std::string wrong = wrong_table(table, all_.codes);
      if (wrong.empty() && !seen.insert(key_of(table)).second) wrong = "is there twice";
      if (!wrong.empty()) throw ConfigError(fmt::format("a table of a later round {}.", wrong));
    }
    auto out = std::make_shared<PairsMap>(*this);
    out->all_.tables = std::move(tables);
    const double cells = cells_of(out->all_, Learned::kAsTheyAre);
    if (out->all_.tables.empty() || out->all_.tables.size() > kMostCountTables || cells > kMostCells)
      throw ConfigError(fmt::format(
          "a later round would count {} tables of {:.3g} cells a class, not 1 to {} of at most {}.",
          out->all_.tables.size(), cells, kMostCountTables, kMostCells));
    out->all_.place();
    out->stated_ = true;
    return out;
  }

  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return make_pairs_block(all_, lattice);
  }

 private:
  struct Joint {
    double drowned;  ///< noise in a cell over the records in it, were all values and classes equally frequent
    const CountTable* table;
  };
  /// Of two columns and more, those that drown most first.
  std::vector<Joint> joints(double noise) const {
    std::vector<Joint> out;
    for (const CountTable& table : all_.tables) {
      if (table.columns.size() > 1)
        out.push_back(
            {noise * std::sqrt(all_.sum_of_squares()) / table.weight * static_cast<double>(table.cells),
             &table});
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &Joint::drowned);
    return out;
  }
  std::string columns_listed() const {
    return fmt::format(
        "the columns are {}{}", fmt::join(names_, ", "),
        label_.empty() ? ""
                       : fmt::format("; \"{}\", the label, is none: each of its values has tables of its own "
                                     "(data.label_as)",
                                     label_));
  }
  void choose_tables(std::vector<std::size_t> codes, std::vector<std::size_t> grid_cells);
  void weigh(settings::Problems& problems);
  void require_few_cells() const;
  std::string name_of(const CountTable& table) const;

  double singles_ = 0.7;  ///< v: measured in docs/explanation/pairs.md, "weights"
  std::vector<std::string> leave_out_, weights_, triples_;
  bool stated_ = false;  ///< the tables are a release's, not chosen by the settings
  CountTables all_;
  std::vector<std::string> names_;   ///< of a record's numbers, for messages
  std::size_t target_ = kAnyColumn;  ///< which of those is the target; kAnyColumn: none
  std::string label_;                ///< that has classes; empty: there is none
  std::size_t classes_ = 1;
};

void PairsMap::choose_tables(std::vector<std::size_t> codes, std::vector<std::size_t> grid_cells) {
  const std::string listed = columns_listed();
  settings::Problems problems;
  all_ = {std::move(codes), {}, std::move(grid_cells)};
  const std::size_t d = names_.size();
  problems.unless(
      d <= kMostColumns,
      fmt::format("the table has {} columns, more than {}: leave some out of the schema", d, kMostColumns));
  std::vector<bool> counted(d, true);
  for (const std::string& name : leave_out_) {
    const auto at = std::ranges::find(names_, name);
    problems.unless(at != names_.end(),
                    fmt::format("leave_out: there is no column \"{}\"; {}", name, listed));
    if (at != names_.end()) counted[static_cast<std::size_t>(at - names_.begin())] = false;
  }
  for (std::size_t a = 0; a < d && problems.empty(); ++a) {
    if (counted[a]) all_.tables.push_back({{a}, {}, singles_});
    for (std::size_t b = a + 1; counted[a] && b < d; ++b) {
      if (counted[b]) all_.tables.push_back({{a, b}, {}, a == target_ || b == target_ ? kTargetWeight : 1.0});
    }
  }
  for (const std::string& text : triples_) {
    auto columns = columns_in(text, names_, false);
    if (!columns || columns->size() != 3 || !different(*columns)) {
      problems.add(
          fmt::format("triples: \"{}\" is not three different columns, as in \"a:b:c\"; {}", text, listed));
      continue;
    }
    std::ranges::sort(*columns);
    all_.tables.push_back({std::move(*columns)});
  }
  std::ranges::sort(all_.tables, [](const CountTable& a, const CountTable& b) {
    return a.columns.size() != b.columns.size() ? a.columns.size() < b.columns.size() : a.columns < b.columns;
  });
  problems.unless(std::ranges::adjacent_find(all_.tables, {}, &CountTable::columns) == all_.tables.end(),
                  "triples: one is named twice");
  if (problems.empty()) weigh(problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
  require_few_cells();
  all_.place();
}

void PairsMap::weigh(settings::Problems& problems) {
  for (const std::string& text : weights_) {
    const auto [left, weight] = split_weight(text);
    const auto columns = columns_in(left, names_, true);
    if (!columns || !different(*columns)) {
      problems.add(fmt::format("weights: \"{}\" names no different columns; {}", text, columns_listed()));
      continue;
    }
    bool fits = false;
    for (CountTable& table : all_.tables) {
      if (!holds(table, *columns)) continue;
      fits = true;
      table.weight = weight;
    }
    problems.unless(fits, fmt::format("weights: \"{}\" fits no table that is counted", text));
  }
  std::erase_if(all_.tables, [](const CountTable& table) { return table.weight == 0.0; });
  if (!problems.empty()) return;
  problems.unless(!all_.tables.empty(),
                  "nothing is counted: every table's weight is 0, or every column left out");
  problems.unless(all_.tables.size() <= kMostCountTables,
                  fmt::format("{} tables are more than {}: leave out some columns, or give pairs weight 0",
                              all_.tables.size(), kMostCountTables));
  for (const CountTable& table : all_.tables) {
    if (kWeights.has(table.weight)) continue;
    problems.add(fmt::format("singles is {}, neither 0 nor {}", exact_text(singles_), kWeights.text()));
    return;
  }
}

void PairsMap::require_few_cells() const {
  const double cells = cells_of(all_, Learned::kInGroups);
  if (cells <= static_cast<double>(kMostCells)) return;
  std::size_t bins = std::size_t{1} << 24;
  while (bins > 1 &&
         cells_of(all_, Learned::kInGroups, static_cast<double>(bins)) > static_cast<double>(kMostCells))
    bins /= 2;
  std::string wide;
  for (std::size_t j = 0; j < names_.size(); ++j) {
    const bool counted = std::ranges::any_of(
        all_.tables, [&](const CountTable& t) { return std::ranges::binary_search(t.columns, j); });
    const bool learned = !all_.grid_cells.empty() && all_.grid_cells[j] > 0;
    if (counted && !learned && all_.codes[j] > bins)
      wide += fmt::format("{}{} ({})", wide.empty() ? "" : ", ", names_[j], all_.codes[j]);
  }
  throw ConfigError(fmt::format(
      "the tables have {:.3g} cells a class, more than {}. With at most {} bins or categories a column they "
      "would have {:.3g}; wider are {}. Give those fewer bins in the schema, or leave them out.",
      cells, kMostCells, bins, cells_of(all_, Learned::kInGroups, static_cast<double>(bins)), wide));
}

std::string PairsMap::name_of(const CountTable& table) const {
  std::string out;
  for (const std::size_t j : table.columns) out += (out.empty() ? "" : " x ") + names_[j];
  return out;
}

std::string PairsMap::outlook(double noise, double records) const {
  const double root = std::sqrt(all_.sum_of_squares());
  double single = 0.0, least = 1e300, most = 0.0;
  const std::vector<Joint> joints = this->joints(noise);
  std::vector<double> shown;  // of each pair: the correlation from which it shows
  for (const CountTable& table : all_.tables) {
    const double sigma = noise * root / table.weight;  // over the records of a class
    if (table.columns.size() == 1) {
      single = std::max(single, sigma);
      continue;
    }
    least = std::min(least, sigma), most = std::max(most, sigma);
    if (table.columns.size() > 2) continue;
    // Of all classes together: a table whose values are equally frequent and whose only singular value beside
    // the margins' is r has r m / sqrt(k l) there, noise up to sigma (sqrt(k) + sqrt(l)).
    const auto k = static_cast<double>(table.size(0, all_.codes)),
               l = static_cast<double>(table.size(1, all_.codes));
    shown.push_back(sigma / std::sqrt(static_cast<double>(classes_)) * (std::sqrt(k) + std::sqrt(l)) *
                    std::sqrt(k * l));
  }
  if (joints.empty() && all_.learns()) {
    std::size_t numbers = 0, widest = 0;
    for (const std::size_t cells : all_.grid_cells) {
      numbers += cells > 0 ? 1 : 0;
      widest = std::max(widest, cells);
    }
    return fmt::format(
        "learns the bins of {} over public grids of up to {} cells, with noise of up to {:.3g} "
        "records in each count of their trees",
        numbers == 1 ? "1 number" : fmt::format("{} numbers", numbers), widest, single * records);
  }
  if (joints.empty())
    return fmt::format("noise of up to {:.3g} records in every cell of single columns", single * records);
  // A table drowns where more noise is in a cell than records, on average.
  const auto drowned = [&](double noise_left, double bins_left) {
    return std::ranges::count_if(joints, [&](const Joint& joint) {
      const auto columns = static_cast<double>(joint.table->columns.size());
      return joint.drowned * noise_left * std::pow(bins_left, columns) > 1.0;
    });
  };
  std::string out =
      fmt::format("noise of {:.3g}{} records in every cell of {} {}{}", least * records,
                  most > 1.001 * least ? fmt::format(" to {:.3g}", most * records) : "", joints.size(),
                  shown.size() == joints.size() ? "pairs" : "pairs and triples",
                  single > 0.0 ? fmt::format(", {:.3g} of single columns", single * records) : "");
  if (shown.size() < joints.size())
    out += "; a generator takes no more from a triple than its pairs: triples are for readers of the tables";
  if (!shown.empty()) {
    const auto middle = shown.begin() + static_cast<std::ptrdiff_t>(shown.size() / 2);
    std::ranges::nth_element(shown, middle);
    out += *middle < 1.0
               ? fmt::format("; in half of the pairs correlations show from about {:.2g} on", *middle)
               : "; in half of the pairs no correlation shows";
  }
  const auto count = drowned(1.0, 1.0);
  if (count == 0) return out + "; no table drowns: on average cells hold more records than noise";
  out += fmt::format("; {}: on average {} cells hold more noise than records",
                     count == 1 ? "1 table drowns" : fmt::format("{} tables drown", count),
                     count == 1 ? "its" : "their");
  for (std::size_t i = 0; i < std::min<std::size_t>(static_cast<std::size_t>(count), 3); ++i)
    out += (i == 0 ? " (" : ", ") + name_of(*joints[i].table);
  return out +
         fmt::format(
             "{}); twice the epsilon would leave {} of them, half the bins or categories of every column {}",
             count > 3 ? ", ..." : "", drowned(0.5, 1.0), drowned(1.0, 0.5));
}

}  // namespace

MapKind pairs_map() {
  return {
      "pairs",
      "counts of a table's pairs of columns, class by class: a generator in closed form, without training",
      [] { return std::unique_ptr<FeatureMap>(std::make_unique<PairsMap>()); }};
}

}  // namespace muffle::features
