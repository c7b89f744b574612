#include "pairs_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "float_environment.hpp"
#include "muffle/core/error.hpp"

namespace muffle::features {
namespace {

/// Records of a tile, and of those as many as stay in the first cache with their cells of a few tables.
constexpr std::size_t kTile = 4096, kRecordsAtOnce = 256, kTablesAtOnce = 4;

struct PairsWorkspace final : Workspace {
  explicit PairsWorkspace(std::size_t views) : codes(views * kRecordsAtOnce) {}
  std::vector<std::uint32_t> codes;                // view by view, of the tile's records
  std::array<std::uint32_t, kRecordsAtOnce> rows;  // where each one's class begins in the sums
  std::array<std::array<std::uint32_t, kRecordsAtOnce>, kTablesAtOnce>
      cells;  // of each record, table by table
};

/// A column as tables see it: its codes, or groups of them.
struct View {
  std::size_t column = 0;
  std::vector<std::uint32_t> groups;  // of each code; empty: the codes themselves
  std::uint32_t size = 0;
};

class PairsBlock final : public Block {
 public:
  PairsBlock(const CountTables& all, const Lattice& lattice) : codes_(all.codes), features_(all.cells()) {
    for (std::size_t j = 0; j < codes_.size(); ++j)
      views_.push_back({j, {}, static_cast<std::uint32_t>(codes_[j])});
    for (const CountTable& table : all.tables) {
      Place& place = tables_.emplace_back(Place{{}, table.first});
      for (std::size_t c = 0; c < table.columns.size(); ++c) place.views.push_back(view_of(table, c));
    }
    std::uint64_t squares = 0;
    for (const std::int64_t unit : all.units(lattice)) {
      units_.push_back(static_cast<std::uint64_t>(unit));
      squares += units_.back() * units_.back();
    }
    // The same numbers for every record: checked here, in integers, for all of them.
    require(squares <= lattice.max_squared_norm(), "a record of counts would be longer than its bound");
  }

  std::size_t dims() const override { return codes_.size(); }
  std::size_t features() const override { return features_; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<PairsWorkspace>(views_.size());
  }

  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                           std::span<std::uint64_t> sums) const override {
    require(n <= kTile, fmt::format("{} records in a tile of {}", n, kTile));
    require(sums.size() % features_ == 0, "the sums are not a whole number of classes");
    require(sums.size() <= std::uint64_t{1} << 32, "the sums have more numbers than 32 bits count");
    auto& scratch = dynamic_cast<PairsWorkspace&>(workspace);
    const DefaultFloatEnvironment environment;
    const auto classes = static_cast<std::int64_t>(sums.size() / features_);
    std::size_t refused = 0;
    for (std::size_t first = 0; first < n; first += kRecordsAtOnce) {
      const std::size_t some = std::min(kRecordsAtOnce, n - first);
      const std::size_t taken = read(x + first * dims(), y + first, some, classes, scratch);
      refused += some - taken;
      add(scratch, taken, sums);
    }
    return refused;
  }

 private:
  /// A table: its columns' views, and where its cells begin among a class's numbers.
  struct Place {
    std::vector<std::size_t> views;
    std::size_t first;
  };

  std::size_t view_of(const CountTable& table, std::size_t c) {
    if (table.groups.empty() || table.groups[c].empty()) return table.columns[c];
    for (std::size_t v = codes_.size(); v < views_.size(); ++v) {
      if (views_[v].column == table.columns[c] && views_[v].groups == table.groups[c]) return v;
    }
    views_.push_back({table.columns[c], table.groups[c], static_cast<std::uint32_t>(table.size(c, codes_))});
    return views_.size() - 1;
  }

  /// @returns how many of the records have a class and positions: they fill the workspace's first places.
  std::size_t read(const float* x, const std::int32_t* y, std::size_t n, std::int64_t classes,
                   PairsWorkspace& scratch) const {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (y[i] < 0 || y[i] >= classes || !are_positions(x + i * dims())) continue;
      read_codes(x + i * dims(), scratch, taken);
      scratch.rows[taken++] = static_cast<std::uint32_t>(static_cast<std::size_t>(y[i]) * features_);
    }
    return taken;
  }

  bool are_positions(const float* x) const {
    bool good = true;
    for (std::size_t j = 0; j < codes_.size(); ++j) good &= x[j] >= 0.0f && x[j] <= 1.0f;  // nor NaN
    return good;
  }

  /// schema::cell_at(), inlined.
  void read_codes(const float* x, PairsWorkspace& scratch, std::size_t record) const {
    for (std::size_t j = 0; j < codes_.size(); ++j) {
      const double at = static_cast<double>(x[j]) * static_cast<double>(codes_[j]);
      scratch.codes[j * kRecordsAtOnce + record] =
          std::min(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(codes_[j] - 1));
    }
    for (std::size_t v = codes_.size(); v < views_.size(); ++v)
      scratch.codes[v * kRecordsAtOnce + record] =
          views_[v].groups[scratch.codes[views_[v].column * kRecordsAtOnce + record]];
  }

  void find_cells(const Place& table, PairsWorkspace& scratch, std::size_t records, std::size_t t) const {
    std::uint32_t* const cells = scratch.cells[t].data();
    const auto codes = [&](std::size_t c) { return scratch.codes.data() + table.views[c] * kRecordsAtOnce; };
    const auto size = [&](std::size_t c) { return views_[table.views[c]].size; };
    const std::uint32_t *const rows = scratch.rows.data(), *const a = codes(0);
    if (table.views.size() == 1) {
      for (std::size_t i = 0; i < records; ++i) cells[i] = rows[i] + a[i];
      return;
    }
    const std::uint32_t *const b = codes(1), sizes = size(1);
    if (table.views.size() == 2) {
      for (std::size_t i = 0; i < records; ++i) cells[i] = rows[i] + a[i] * sizes + b[i];
      return;
    }
    const std::uint32_t *const c = codes(2), last = size(2);
    for (std::size_t i = 0; i < records; ++i) cells[i] = rows[i] + (a[i] * sizes + b[i]) * last + c[i];
  }

  void add(PairsWorkspace& scratch, std::size_t records, std::span<std::uint64_t> sums) const {
    for (std::size_t first = 0; first < tables_.size(); first += kTablesAtOnce) {
      const std::size_t count = std::min(kTablesAtOnce, tables_.size() - first);
      for (std::size_t t = 0; t < count; ++t) find_cells(tables_[first + t], scratch, records, t);
      add_tables(first, count, scratch, records, sums);
    }
  }

  /// Several tables side by side: one table's records wait for each other wherever they share a cell.
  void add_tables(std::size_t first, std::size_t count, const PairsWorkspace& scratch, std::size_t records,
                  std::span<std::uint64_t> sums) const {
    const auto& cells = scratch.cells;
    if (count < kTablesAtOnce) {
      for (std::size_t t = 0; t < count; ++t) {
        std::uint64_t* const table = sums.data() + tables_[first + t].first;
        for (std::size_t i = 0; i < records; ++i) table[cells[t][i]] += units_[first + t];
      }
      return;
    }
    std::array<std::uint64_t*, kTablesAtOnce> table;
    std::array<std::uint64_t, kTablesAtOnce> unit;
    for (std::size_t t = 0; t < kTablesAtOnce; ++t) {
      table[t] = sums.data() + tables_[first + t].first;
      unit[t] = units_[first + t];
    }
    for (std::size_t i = 0; i < records; ++i) {
      for (std::size_t t = 0; t < kTablesAtOnce; ++t) table[t][cells[t][i]] += unit[t];
    }
  }

  std::vector<std::size_t> codes_;
  std::size_t features_;
  std::vector<View> views_;  // of every column its codes, then the groups that some table counts
  std::vector<Place> tables_;
  std::vector<std::uint64_t> units_;  // of each table
};

}  // namespace

std::size_t pairs_scratch_bytes(const CountTables& all) {
  const std::size_t dims = all.codes.size();
  std::set<std::pair<std::size_t, std::vector<std::uint32_t>>> grouped;
  for (const CountTable& table : all.tables) {
    for (std::size_t c = 0; c < table.groups.size(); ++c) {
      if (!table.groups[c].empty()) grouped.emplace(table.columns[c], table.groups[c]);
    }
  }
  return 4 * (kTile * dims + kRecordsAtOnce * (dims + grouped.size() + 1 + kTablesAtOnce));
}

std::unique_ptr<Block> make_pairs_block(const CountTables& all, const Lattice& lattice) {
  return std::make_unique<PairsBlock>(all, lattice);
}

}  // namespace muffle::features
