#include "pairs_block.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace muffle::features {
namespace {

/// Records of a tile, and of those as many as are added at a time.
constexpr std::size_t kTile = 4096, kRecordsAtOnce = Accumulator::kMostCells;

struct PairsWorkspace final : Workspace {
  explicit PairsWorkspace(std::size_t views) : codes(views * kRecordsAtOnce) {}
  std::vector<std::uint32_t> codes;                 // view by view, of the tile's records
  std::array<std::int32_t, kRecordsAtOnce> labels;  // of those that are taken
};

/// A column as tables see it: its codes, or groups of them.
struct View {
  std::size_t column = 0;
  std::vector<std::uint32_t> groups;  // of each code; empty: the codes themselves
  std::uint32_t size = 0;
};

class PairsBlock final : public Block {
 public:
  PairsBlock(const CountTables& all, const Lattice& lattice)
      : lattice_(lattice), codes_(all.codes), features_(all.cells()), units_(units(all, lattice)) {
    for (std::size_t j = 0; j < codes_.size(); ++j)
      views_.push_back({j, {}, static_cast<std::uint32_t>(codes_[j])});
    for (const CountTable& table : all.tables) {
      std::vector<std::size_t>& views = tables_.emplace_back();
      for (std::size_t c = 0; c < table.columns.size(); ++c) views.push_back(view_of(table, c));
    }
  }

  std::size_t dims() const override { return codes_.size(); }
  std::size_t features() const override { return features_; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<PairsWorkspace>(views_.size());
  }

  Guard guard() const override { return Guard::of(lattice_, true); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<PairsWorkspace&>(workspace);
    for (std::size_t first = 0; first < n; first += kRecordsAtOnce) {
      const std::size_t taken =
          read(x + first * dims(), y + first, std::min(kRecordsAtOnce, n - first), sums, scratch);
      sums.add(units_, std::span(scratch.labels).first(taken),
               [&](std::size_t t, std::uint32_t* cells) { find_cells(tables_[t], scratch, taken, cells); });
    }
  }

 private:
  static CellUnits units(const CountTables& all, const Lattice& lattice) {
    const std::vector<std::int64_t> units = all.units(lattice);
    std::vector<CellUnits::Table> tables;
    for (std::size_t t = 0; t < all.tables.size(); ++t)
      tables.push_back({all.tables[t].first, all.tables[t].cells, units[t]});
    return CellUnits(std::move(tables));
  }

  std::size_t view_of(const CountTable& table, std::size_t c) {
    if (table.groups.empty() || table.groups[c].empty()) return table.columns[c];
    for (std::size_t v = codes_.size(); v < views_.size(); ++v) {
      if (views_[v].column == table.columns[c] && views_[v].groups == table.groups[c]) return v;
    }
    views_.push_back({table.columns[c], table.groups[c], static_cast<std::uint32_t>(table.size(c, codes_))});
    return views_.size() - 1;
  }

  /// @returns how many of the records have a class and positions: they fill the workspace's first places.
  std::size_t read(const float* x, const std::int32_t* y, std::size_t n, const Accumulator& sums,
                   PairsWorkspace& scratch) const {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!sums.is_class(y[i]) || !are_positions(x + i * dims())) continue;
      read_codes(x + i * dims(), scratch, taken);
      scratch.labels[taken++] = y[i];
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

  /// @param views  the table's columns
  void find_cells(const std::vector<std::size_t>& views, const PairsWorkspace& scratch, std::size_t records,
                  std::uint32_t* cells) const {
    const auto codes = [&](std::size_t c) { return scratch.codes.data() + views[c] * kRecordsAtOnce; };
    const auto size = [&](std::size_t c) { return views_[views[c]].size; };
    const std::uint32_t* const a = codes(0);
    if (views.size() == 1) {
      std::copy_n(a, records, cells);
      return;
    }
    const std::uint32_t *const b = codes(1), sizes = size(1);
    if (views.size() == 2) {
      for (std::size_t i = 0; i < records; ++i) cells[i] = a[i] * sizes + b[i];
      return;
    }
    const std::uint32_t *const c = codes(2), last = size(2);
    for (std::size_t i = 0; i < records; ++i) cells[i] = (a[i] * sizes + b[i]) * last + c[i];
  }

  Lattice lattice_;
  std::vector<std::size_t> codes_;
  std::size_t features_;
  std::vector<View> views_;  // of every column its codes, then the groups that some table counts
  std::vector<std::vector<std::size_t>> tables_;  // the views of each one's columns
  CellUnits units_;
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
  return 4 * (kTile * dims + kRecordsAtOnce * (dims + grouped.size() + 1));
}

std::unique_ptr<Block> make_pairs_block(const CountTables& all, const Lattice& lattice) {
  return std::make_unique<PairsBlock>(all, lattice);
}

}  // namespace muffle::features
