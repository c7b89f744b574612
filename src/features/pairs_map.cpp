// Counts of pairs of a table's columns, of single ones, and of triples on request (docs/explanation/pairs.md;
// muffle/features/pairs.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/pairs.hpp"
#include "pairs_block.hpp"
#include "pairs_outlook.hpp"
#include "table_choice.hpp"

namespace muffle::features {
namespace {

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

class PairsMap final : public FeatureMap, private TableFeatures {
 public:
  std::string_view kind() const override { return "pairs"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<PairsMap>(*this); }

  void declare(settings::Keys& keys) override {
    keys.number("singles", choice_.singles, {0, 1e3},
                "weight of the counts of every single column, beside pairs of weight 1; 0: none");
    keys.texts("leave_out", choice_.leave_out, "[\"fnlwgt\"]", "columns that are not counted");
    keys.texts("weights", choice_.weights, "[\"age:sex=2.5\", \"age=3\", \"age:*=0\"]",
               "weights of single tables, the last that fits holds; *: any column; 0: not counted",
               wrong_weight);
    keys.texts("triples", choice_.triples, "[\"age:sex:education\"]",
               "triples of columns that are counted, too");
  }

  void resolve(const schema::Schema& schema) override {
    if (!schema.table)
      throw ConfigError(
          "it counts pairs of a table's columns, and the records are no table: set data.schema.");
    const std::vector<std::size_t> codes = schema.table->codes();
    columns_ = {};
    for (const std::size_t j : schema.table->features()) {
      if (schema.table->target() == j) columns_.target = columns_.names.size();
      if (schema.table->counted_person() == j) columns_.row_number = columns_.names.size();
      columns_.names.push_back(schema.table->columns[j].name);
    }
    const auto label = schema.table->label();
    if (label) columns_.label = schema.table->columns[*label].name;
    classes_ = schema.classes;
    const std::vector<std::size_t> grid_cells = grid_cells_of(*schema.table);
    if (!stated_) all_ = choose_tables(choice_, columns_, codes, grid_cells);
    if (all_.codes != codes)
      throw ConfigError("its tables are of columns with other numbers of codes than the schema's.");
    if (all_.grid_cells != grid_cells)
      throw ConfigError("it learns the bins of other columns than the schema's.");
    if (all_.row_number != columns_.row_number)
      throw ConfigError("it counts the rows of people otherwise than the schema.");
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
    if (all_.row_number) out["row_number"] = *all_.row_number;
    return out;
  }

  void read_json(const JsonFields& f) override {
    f.only({"codes", "tables", "grid_cells", "row_number"});
    all_ = {};
    all_.codes = f.sizes("codes", kMostCounted, 1, kMostCountedCells);
    if (f.has("grid_cells")) {
      all_.grid_cells = f.sizes("grid_cells", kMostCounted, 0, kMostCountedCells);
      if (all_.grid_cells.size() != all_.codes.size() || !all_.learns() ||
          !std::ranges::equal(all_.grid_cells, all_.codes, std::less_equal<>()))
        f.fail("grid_cells", "are not those of such columns");
    }
    if (f.has("row_number")) all_.row_number = f.integer("row_number", 0, all_.codes.size() - 1);
    std::set<TableKey> seen;
    for (const JsonFields& entry : f.objects("tables", kMostCountTables)) {
      entry.only({"columns", "weight", "groups"});
      CountTable table{entry.sizes("columns", 3, 0, all_.codes.size() - 1), {}, entry.number("weight")};
      if (entry.has("groups")) {
        for (const JsonFields& groups : entry.objects("groups", 3)) {
          groups.only({"of"});
          const std::vector<std::size_t> of =
              groups.sizes("of", kMostCountedCells, 0, kMostCountedCells - 1, true);
          table.groups.emplace_back(of.begin(), of.end());
        }
      }
      if (const std::string wrong = wrong_table(table, all_.codes); !wrong.empty())
        entry.fail("columns", wrong);
      if (is_with_rows(table)) entry.fail("columns", "count the rows of people together with others");
      if (!seen.insert(key_of(table)).second) entry.fail("columns", "names a table twice");
      all_.tables.push_back(std::move(table));
    }
    if (cells_of(all_, Learned::kInGroups) > kMostCountedCells ||
        cells_of(all_, Learned::kAsTheyAre) > kMostStated)
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
    if (all_.row_number) all.push_back(static_cast<double>(*all_.row_number) + 0.75);
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

  std::string outlook(double noise, double records) const override {
    return outlook_of(all_, columns_.names, classes_, noise, records);
  }
  std::vector<std::string> drowned(double noise) const override {
    return drowned_of(all_, columns_.names, noise);
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
      if (wrong.empty() && is_with_rows(table)) wrong = "counts the rows of people together with others";
      if (wrong.empty() && !seen.insert(key_of(table)).second) wrong = "is there twice";
      if (!wrong.empty()) throw ConfigError(fmt::format("a table of a later round {}.", wrong));
    }
    auto out = std::make_shared<PairsMap>(*this);
    out->all_.tables = std::move(tables);
    const double cells = cells_of(out->all_, Learned::kAsTheyAre);
    if (out->all_.tables.empty() || out->all_.tables.size() > kMostCountTables || cells > kMostCountedCells)
      throw ConfigError(fmt::format(
          "a later round would count {} tables of {:.3g} cells a class, not 1 to {} of at most {}.",
          out->all_.tables.size(), cells, kMostCountTables, kMostCountedCells));
    out->all_.place();
    out->stated_ = true;
    return out;
  }

  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return make_pairs_block(all_, lattice);
  }

 private:
  /// Of several columns, one of them the row_number.
  bool is_with_rows(const CountTable& table) const {
    return all_.row_number && table.columns.size() > 1 &&
           std::ranges::count(table.columns, *all_.row_number) > 0;
  }

  TableChoice choice_;
  bool stated_ = false;  ///< the tables are a release's, not chosen by the settings
  CountTables all_;
  CountedColumns columns_;
  std::size_t classes_ = 1;
};

}  // namespace

MapKind pairs_map() {
  return {
      "pairs",
      "counts of a table's pairs of columns, class by class: a generator in closed form, without training",
      [] { return std::unique_ptr<FeatureMap>(std::make_unique<PairsMap>()); }};
}

}  // namespace muffle::features
