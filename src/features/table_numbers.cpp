// Maps of vectors, of a table's numbers (muffle/features/mixed.hpp; docs/reference/feature-maps.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/mixed.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kMostTile = 256;

struct NumbersWorkspace final : Workspace {
  NumbersWorkspace(std::size_t count, std::unique_ptr<Workspace> own)
      : numbers(count * kMostTile), inner(std::move(own)) {}
  std::vector<float> numbers;  // record by record
  std::array<std::int32_t, kMostTile> labels;
  std::unique_ptr<Workspace> inner;
};

class TableNumbersBlock final : public Block {
 public:
  TableNumbersBlock(MixedLayout layout, std::unique_ptr<Block> inner)
      : layout_(std::move(layout)), inner_(std::move(inner)) {}

  std::size_t dims() const override { return layout_.dims; }
  std::size_t features() const override { return inner_->features(); }
  std::size_t tile() const override { return std::min(inner_->tile(), kMostTile); }
  int useful_threads() const override { return inner_->useful_threads(); }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<NumbersWorkspace>(layout_.numbers.size(), inner_->make_workspace());
  }

  Guard guard() const override { return inner_->guard(); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<NumbersWorkspace&>(workspace);
    float* out = scratch.numbers.data();
    for (std::size_t i = 0; i < n; ++i) {
      const float* const record = x + i * layout_.dims;
      const bool good = layout_.are_positions(record);
      scratch.labels[i] = good ? y[i] : schema::kNoClass;
      for (const MixedLayout::Number& number : layout_.numbers)
        *out++ = good ? static_cast<float>(number.number(record[number.column])) : 0.0f;
    }
    inner_->embed(scratch.numbers.data(), scratch.labels.data(), n, *scratch.inner, sums);
  }

 private:
  MixedLayout layout_;
  std::unique_ptr<Block> inner_;
};

class TableNumbers final : public TableNumbersMap {
 public:
  TableNumbers(std::string_view kind, std::unique_ptr<FeatureMap> inner)
      : kind_(kind), inner_(std::move(inner)) {}
  TableNumbers(const TableNumbers& other)
      : TableNumbersMap(other), kind_(other.kind_), layout_(other.layout_), inner_(other.inner_->clone()) {}

  const MixedLayout& layout() const override { return layout_; }
  const FeatureMap& inner() const override { return *inner_; }

  std::string_view kind() const override { return kind_; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<TableNumbers>(*this); }
  void declare(settings::Keys& keys) override { inner_->declare(keys); }

  void resolve(const schema::Schema& schema) override {
    if (!schema.table)
      throw ConfigError("it is of a table's numbers, and the records are no table: set data.schema.");
    layout_ = MixedLayout(*schema.table);
    if (layout_.numbers.empty())
      throw ConfigError(
          "it is of a table's numbers, dates and times, and no feature of the table is one: a map of kind "
          "\"one-hot\" alone has all columns.");
    inner_->resolve(vectors(schema));
  }
  void choose_sizes(const schema::Schema& schema, double noise) override {
    if (schema.table && !MixedLayout(*schema.table).numbers.empty())
      inner_->choose_sizes(vectors(schema), noise);
  }

  nlohmann::json to_json() const override { return inner_->to_json(); }
  void read_json(const JsonFields& fields) override { inner_->read_json(fields); }

  std::size_t dims() const override { return layout_.dims; }
  std::size_t features() const override { return inner_->features(); }
  BlockBound bound() const override {
    BlockBound bound = inner_->bound();
    bound.theorem =
        "Of the numbers of a record alone, scaled to [0, 1] by the public schema: " + bound.theorem;
    return bound;
  }
  std::vector<CoordinateRun> coordinates(const Lattice& lattice) const override {
    return inner_->coordinates(lattice);
  }
  PlainFacts plain_facts(const Lattice& lattice) const override { return inner_->plain_facts(lattice); }
  double scale(const Lattice& lattice) const override { return inner_->scale(lattice); }
  void require_no_overflow(std::uint64_t records, const Lattice& lattice) const override {
    inner_->require_no_overflow(records, lattice);
  }
  MapCost cost() const override {
    MapCost cost = inner_->cost();
    cost.flops_per_record += 4.0 * static_cast<double>(layout_.numbers.size());
    cost.bytes_per_thread += 4 * kMostTile * (layout_.numbers.size() + 1);
    return cost;
  }
  double numbers_in_map() const override {
    return inner_->numbers_in_map() + static_cast<double>(layout_.dims);
  }
  std::string hash() const override {
    // Not of the knots: every reader compares the table itself.
    std::string all = inner_->hash();
    for (const MixedLayout::Number& number : layout_.numbers)
      all += fmt::format(" {}:{}", number.column, number.knots.size());
    return to_hex(sha256(PublicBytes(all)));
  }
  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    auto small = std::make_unique<TableNumbers>(*this);
    small->inner_ = inner_->shrunk(features);
    return small;
  }
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    return std::make_unique<TableNumbersBlock>(layout_, inner_->make_block(lattice));
  }

 private:
  static schema::Schema vectors(const schema::Schema& schema) {
    return {{MixedLayout(*schema.table).numbers.size()}, schema.classes, 0.0, 1.0};
  }

  std::string_view kind_;
  MixedLayout layout_;
  std::unique_ptr<FeatureMap> inner_;
};

}  // namespace

std::unique_ptr<FeatureMap> make_table_numbers_map(std::string_view kind, std::string_view inner) {
  return std::make_unique<TableNumbers>(kind, make_map(inner));
}

}  // namespace muffle::features
