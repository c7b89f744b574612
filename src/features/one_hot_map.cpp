// One-hot entries of a table's categories (muffle/features/mixed.hpp; docs/reference/feature-maps.md).
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "float_environment.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/mixed.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kTile = 256, kMostEntries = std::size_t{1} << 24;

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

struct OneHotWorkspace final : Workspace {};

class OneHotBlock final : public Block {
 public:
  OneHotBlock(MixedLayout layout, const Lattice& lattice)
      : layout_(std::move(layout)), unit_(one_hot_unit(layout_.entries, lattice)) {
    // The same numbers for every record: checked here, in integers, for all of them.
    require(unit_ * unit_ * layout_.entries <= lattice.max_squared_norm(),
            "a record of one-hot entries would be longer than its bound");
  }

  std::size_t dims() const override { return layout_.dims; }
  std::size_t features() const override { return layout_.entries; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<OneHotWorkspace>(); }

  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace&,
                           std::span<std::uint64_t> sums) const override {
    require(n <= kTile, fmt::format("{} records in a tile of {}", n, kTile));
    require(sums.size() % features() == 0, "the sums are not a whole number of classes");
    const DefaultFloatEnvironment environment;
    const auto classes = static_cast<std::int64_t>(sums.size() / features());
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float* const record = x + i * layout_.dims;
      if (y[i] < 0 || y[i] >= classes || !layout_.are_positions(record)) {
        ++refused;
        continue;
      }
      std::uint64_t* const row = sums.data() + static_cast<std::size_t>(y[i]) * features();
      for (const MixedLayout::Category& category : layout_.categories)
        row[category.first + category.entry(record[category.column])] += unit_;
    }
    return refused;
  }

 private:
  MixedLayout layout_;
  std::uint64_t unit_;
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

}  // namespace

MapKind one_hot_map() {
  return {"one-hot", "counts of each of a table's categories, column by column: beside a map of its numbers",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<OneHot>()); }};
}

}  // namespace muffle::features
