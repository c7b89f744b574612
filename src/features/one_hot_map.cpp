// One-hot entries of a table's categories (muffle/features/mixed.hpp; docs/reference/feature-maps.md).
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/features/mixed.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kTile = Accumulator::kMostCells, kMostEntries = std::size_t{1} << 24;

/// floor(2^k / sqrt(entries)), so that entries x unit^2 <= 2^(2k).
std::uint64_t one_hot_unit(std::size_t entries, const Lattice& lattice) {
  const std::uint64_t most = lattice.max_squared_norm() / entries;
  auto unit = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(most)));
  while (unit * unit > most) --unit;
  while ((unit + 1) * (unit + 1) <= most) ++unit;
  if (unit < 1)
    throw ConfigError(fmt::format("a lattice of {} bits is too coarse for {} categories: use more bits",
                                  lattice.bits, entries));
  return unit;
}

struct OneHotWorkspace final : Workspace {
  std::array<const float*, kTile> records;  // those that have a class and positions
  std::array<std::int32_t, kTile> labels;
};

class OneHotBlock final : public Block {
 public:
  OneHotBlock(MixedLayout layout, const Lattice& lattice)
      : layout_(std::move(layout)),
        // k ones a record, whose norm is at most sqrt(k/d).
        guard_{lattice.bits, lattice.max_squared_norm() / layout_.entries * layout_.categories.size(), true},
        units_(units(layout_, lattice)) {}

  std::size_t dims() const override { return layout_.dims; }
  std::size_t features() const override { return layout_.entries; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<OneHotWorkspace>(); }
  Guard guard() const override { return guard_; }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<OneHotWorkspace&>(workspace);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!sums.is_class(y[i]) || !layout_.are_positions(x + i * layout_.dims)) continue;
      scratch.records[taken] = x + i * layout_.dims;
      scratch.labels[taken++] = y[i];
    }
    sums.add(units_, std::span(scratch.labels).first(taken), [&](std::size_t t, std::uint32_t* cells) {
      const MixedLayout::Category& category = layout_.categories[t];
      for (std::size_t i = 0; i < taken; ++i)
        cells[i] = static_cast<std::uint32_t>(category.entry(scratch.records[i][category.column]));
    });
  }

 private:
  static CellUnits units(const MixedLayout& layout, const Lattice& lattice) {
    const auto unit = static_cast<std::int64_t>(one_hot_unit(layout.entries, lattice));
    std::vector<CellUnits::Table> tables;
    for (const MixedLayout::Category& category : layout.categories)
      tables.push_back({category.first, category.entries, unit});
    return CellUnits(std::move(tables));
  }

  MixedLayout layout_;
  Guard guard_;
  CellUnits units_;
};

class OneHot final : public OneHotMap {
 public:
  const MixedLayout& layout() const override { return layout_; }
  std::string_view kind() const override { return "one-hot"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<OneHot>(*this); }
  void declare(settings::Keys&) override {}

  void resolve(const schema::Schema& schema) override {
    if (!schema.table)
      throw ConfigError("it is of a table's categories, and the records are no table: set data.schema.");
    layout_ = MixedLayout(*schema.table);
    if (layout_.categories.empty())
      throw ConfigError("it is of a table's categories, and no feature of the table is one: leave it out.");
    if (layout_.entries > kMostEntries)
      throw ConfigError(
          fmt::format("the columns have {} categories in all, more than {}.", layout_.entries, kMostEntries));
    if (stated_ != 0 && stated_ != layout_.entries)
      throw ConfigError(
          fmt::format("it is of {} categories, the schema's columns have {}.", stated_, layout_.entries));
    stated_ = layout_.entries;
  }

  nlohmann::json to_json() const override { return {{"entries", layout_.entries}}; }
  void read_json(const JsonFields& fields) override {
    fields.only({"entries"});
    stated_ = fields.integer("entries", 1, kMostEntries);
  }

  std::size_t dims() const override { return layout_.dims; }
  std::size_t features() const override { return layout_.entries; }
  BlockBound bound() const override { return one_hot_bound(layout_.categories.size(), layout_.entries); }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    const auto columns = static_cast<long double>(layout_.categories.size());
    const auto entries = static_cast<long double>(layout_.entries);
    return {std::sqrt(columns / entries), true, {{entries, std::pow(2.0L, lattice.bits)}}};
  }
  /// What is added for a category stands for 1 / sqrt(entries), to the last digit.
  double scale(const Lattice& lattice) const override {
    return static_cast<double>(one_hot_unit(layout_.entries, lattice)) *
           std::sqrt(static_cast<double>(layout_.entries));
  }
  void require_no_overflow(std::uint64_t records, const Lattice& lattice) const override {
    features::require_no_overflow(records, lattice);
    one_hot_unit(layout_.entries, lattice);
  }

  MapCost cost() const override {
    const auto columns = static_cast<double>(layout_.categories.size());
    return {2.0 * columns, 64 * layout_.categories.size(), sizeof(OneHotWorkspace)};
  }
  double numbers_in_map() const override { return static_cast<double>(layout_.dims + layout_.entries); }
  std::string hash() const override {
    std::vector<double> all{static_cast<double>(layout_.dims)};
    for (const MixedLayout::Category& category : layout_.categories) {
      all.push_back(static_cast<double>(category.column));
      all.push_back(static_cast<double>(category.entries));
    }
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(all)))));
  }

  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return std::make_unique<OneHotBlock>(layout_, lattice);
  }

 private:
  MixedLayout layout_;
  std::size_t stated_ = 0;  ///< entries that a release states; 0: none did
};

/// "K/D": K columns with D categories in all.
std::optional<BlockBound> bound_of(std::string_view sizes) {
  std::uint64_t columns = 0, categories = 0;
  const char *const begin = sizes.data(), *const end = begin + sizes.size();
  const auto k = std::from_chars(begin, end, columns);
  if (k.ec != std::errc{} || k.ptr == end || *k.ptr != '/') return std::nullopt;
  const auto d = std::from_chars(k.ptr + 1, end, categories);
  if (d.ec != std::errc{} || d.ptr != end) return std::nullopt;
  return one_hot_bound(columns, categories);
}

}  // namespace

BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // beyond, a double is no whole number
  if (!(columns >= 1 && columns <= categories && categories <= kMost))
    throw ConfigError(fmt::format(
        "a one-hot block of {} columns with {} categories in all: there must be at least one column, and a "
        "category for each",
        columns, categories));
  return {
      .norm = sqrt_up(divide_up(static_cast<double>(columns), static_cast<double>(categories))),
      .nonnegative_kernel = true,
      .theorem = fmt::format(
          "One-hot features of k = {} columns with d = {} categories in all, each scaled by 1/sqrt(d), have "
          "exactly k entries of 1/sqrt(d) and so norm sqrt(k/d), and no entry is negative.",
          columns, categories)};
}

MapKind one_hot_map() {
  return {"one-hot",
          "counts of each of a table's categories, column by column: beside a map of its numbers",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<OneHot>()); },
          {"one-hot", "COLUMNS/CATEGORIES", "3/11", "3 columns with 11 categories in all", bound_of}};
}

}  // namespace muffle::features
