#include "muffle/features/accumulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/lift.hpp"
#include "outer_products.hpp"

namespace muffle::features {
namespace {

static_assert(Accumulator::kMostRows <= kMaxAddRows);
/// Several tables side by side: one table's records wait for each other wherever they share a cell.
constexpr std::size_t kTablesAtOnce = 4;

}  // namespace

CellUnits::CellUnits(std::vector<Table> tables) : tables_(std::move(tables)) {
  std::uint64_t end = 0;
  for (const Table& table : tables_) {
    require(table.first >= end && table.cells > 0 && table.cells <= UINT32_MAX && table.first <= UINT32_MAX,
            "tables of counts overlap, or are empty");
    require(table.unit > 0 && table.unit <= std::int64_t{1} << 24, "a count's unit is no lattice value");
    end = table.first + table.cells;
    squares_ += static_cast<std::uint64_t>(table.unit * table.unit);  // at most 2^32 terms ...
    require(squares_ <= std::uint64_t{1} << 62, "a record of counts is far too long");  // ... that stop here
  }
}

Accumulator::Accumulator(std::span<std::uint64_t> sums, std::size_t features, const Guard& guard)
    : sums_(sums), features_(features), classes_(features == 0 ? 0 : sums.size() / features), guard_(guard) {
  require(features > 0 && sums.size() % features == 0, "the sums are not a whole number of classes");
  require(guard.bits >= 1 && guard.bits <= 24 && guard.max_squared_norm <= Lattice{}.max_squared_norm(),
          "a block's guard is beyond the lattice");
}

bool Accumulator::keeps_to_guard(const std::int32_t* record, const LatticeRows& rows,
                                 const Kernels& kernels) const {
  std::uint64_t norm = 0;
  for (std::size_t r = 0; r < rows.runs; ++r) {
    const std::int32_t* const run = record + r * rows.pitch;
    for (std::size_t begin = 0; begin < rows.length; begin += kMaxNormChunk) {
      const std::size_t count = std::min(kMaxNormChunk, rows.length - begin);
      const std::uint64_t chunk = kernels.squared_norm(run + begin, count, guard_.bits);
      // Both are at most 2^63, so the sum cannot wrap.
      if (chunk == kNotOnLattice || (norm += chunk) > guard_.max_squared_norm) return false;
    }
    if (guard_.nonnegative && std::any_of(run, run + rows.length, [](std::int32_t v) { return v < 0; }))
      return false;
  }
  return true;
}

void Accumulator::add(const LatticeRows& rows, std::span<const std::int32_t> labels, const Kernels& kernels) {
  require(labels.size() <= kMostRows && rows.runs * rows.length == features_,
          fmt::format("{} records of {} features in a tile of {} records of {}", labels.size(),
                      rows.runs * rows.length, kMostRows, features_));
  std::array<std::size_t, kMostRows> accepted;
  std::size_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (is_class(labels[i]) && keeps_to_guard(rows.values + i * rows.stride, rows, kernels))
      accepted[count++] = i;
  }
  std::sort(accepted.begin(), accepted.begin() + count,
            [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  std::array<const std::int32_t*, kMostRows> of_class;
  for (std::size_t first = 0; first < count;) {
    const std::int32_t label = labels[accepted[first]];
    std::size_t n = 0;
    for (; first < count && labels[accepted[first]] == label; ++first)
      of_class[n++] = rows.values + accepted[first] * rows.stride;
    for (std::size_t r = 0; r < rows.runs; ++r) {
      kernels.add_rows(of_class.data(), n, rows.length, row_of(label) + r * rows.length);
      for (std::size_t i = 0; i < n; ++i) of_class[i] += rows.pitch;
    }
  }
  added_ += count;
}

bool Accumulator::take(std::span<const double> z, OuterProducts& products) const {
  require(z.size() == products.order_ && products.count_ < products.capacity_,
          "a record's products have no room");
  if (!within_norm(z, guard_.bits)) return false;
  const std::size_t panel = products.kernels_.gram_panel;
  double* const packed = products.packed_.data() + products.count_++ * panel;
  for (std::size_t i = 0; i < z.size(); i += panel)
    std::copy_n(z.data() + i, std::min(panel, z.size() - i), packed + i * products.capacity_);
  return true;
}

void Accumulator::add(OuterProducts& products, std::int32_t label) {
  require(is_class(label) && products.order_ * (products.order_ + 1) / 2 == features_,
          "products of another size, or without a class");
  const std::size_t count = std::exchange(products.count_, 0);
  if (count > 0)
    products.kernels_.add_gram(products.packed_.data(), products.capacity_, count, products.order_,
                               row_of(label));
  added_ += count;
}

void Accumulator::add(const CellUnits& units, std::span<const std::int32_t> labels,
                      const std::function<void(std::size_t, std::uint32_t*)>& cells_of) {
  require(labels.size() <= kMostCells && units.numbers() == features_ &&
              std::ranges::all_of(labels, [&](std::int32_t y) { return is_class(y); }),
          "counts of other tables, or without a class");
  require(sums_.size() <= std::uint64_t{1} << 32, "the sums have more numbers than 32 bits count");
  // The same numbers for every record, none of them negative: one look for all.
  require(units.squared_norm() <= guard_.max_squared_norm,
          "a record of counts would be longer than its bound");
  const std::size_t n = labels.size();
  std::array<std::uint32_t, kMostCells> rows;
  for (std::size_t i = 0; i < n; ++i)
    rows[i] = static_cast<std::uint32_t>(static_cast<std::size_t>(labels[i]) * features_);
  std::array<std::array<std::uint32_t, kMostCells>, kTablesAtOnce> cells;
  const std::span<const CellUnits::Table> tables = units.tables();
  for (std::size_t first = 0; first < tables.size(); first += kTablesAtOnce) {
    const std::size_t some = std::min(kTablesAtOnce, tables.size() - first);
    std::array<std::uint64_t*, kTablesAtOnce> table{};
    std::array<std::uint64_t, kTablesAtOnce> unit{};
    bool inside = true;
    for (std::size_t t = 0; t < some; ++t) {
      const CellUnits::Table& of = tables[first + t];
      table[t] = sums_.data() + of.first;
      unit[t] = static_cast<std::uint64_t>(of.unit);
      cells_of(first + t, cells[t].data());
      const auto most = static_cast<std::uint32_t>(of.cells);
      for (std::size_t i = 0; i < n; ++i) {
        inside &= cells[t][i] < most;
        cells[t][i] += rows[i];
      }
    }
    require(inside, "a record is in a cell that its table has not");
    if (some < kTablesAtOnce) {
      for (std::size_t t = 0; t < some; ++t) {
        for (std::size_t i = 0; i < n; ++i) table[t][cells[t][i]] += unit[t];
      }
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t t = 0; t < kTablesAtOnce; ++t) table[t][cells[t][i]] += unit[t];
    }
  }
  added_ += n;
}

void Accumulator::add_from_device(std::span<const unsigned long long> sums, std::uint64_t records) {
  require(sums.size() == sums_.size(), "a GPU's sums have another size");
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += sums[i];
  added_ += records;
}

}  // namespace muffle::features
