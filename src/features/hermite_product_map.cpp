// The product kernel of DP-HP (Vinaroz et al., ICML 2022) over S public subsets of p columns (docs/math.md,
// "feature maps"): phi(x) = S^(-1/2) [vec(psi(g (x_a1 - 1/2)) (x) ... (x) psi(g (x_ap - 1/2)))], one for each
// subset.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/hermite_product.hpp"

namespace muffle::features {
namespace {

constexpr std::uint64_t kMostColumns = 16, kMostSubsets = 4096;
constexpr double kMostFeatures = 1 << 26;
constexpr std::size_t kTile = 64;
/// Substream of Stream::kFrequencies (rff_map.cpp has the others), part of the artifact format.
constexpr std::uint32_t kSubsets = 2;

using Subsets = std::vector<std::vector<std::size_t>>;

/// How many subsets of p of d columns there are, as far as anybody asks.
std::uint64_t subsets_there_are(std::size_t d, std::size_t p) {
  double count = 1.0;
  for (std::size_t i = 0; i < p; ++i) count = count * static_cast<double>(d - i) / static_cast<double>(i + 1);
  return count < 1e6 ? static_cast<std::uint64_t>(std::llround(count)) : 1'000'000;
}

/// p different columns, ascending: the first p of a shuffle.
std::vector<std::size_t> drawn(const CounterStream& stream, std::uint64_t from, std::size_t d,
                               std::size_t p) {
  std::set<std::size_t> columns;
  for (std::size_t i = 0; i < p; ++i) {
    // Floyd's way: of the first d - p + i + 1 columns one, or the last of them if it is taken.
    const std::size_t last = d - p + i;
    const auto column = static_cast<std::size_t>(stream.below(from + i, last + 1));
    columns.insert(columns.contains(column) ? last : column);
  }
  return {columns.begin(), columns.end()};
}

/// `count` different subsets, in the order in which they were drawn.
Subsets draw_subsets(std::uint64_t seed, std::size_t d, std::size_t p, std::size_t count) {
  const CounterStream stream(seed, Stream::kFrequencies, kSubsets);
  std::set<std::vector<std::size_t>> seen;
  Subsets out;
  for (std::uint64_t draw = 0; out.size() < count; ++draw) {
    std::vector<std::size_t> subset = drawn(stream, draw * p, d, p);
    if (seen.insert(subset).second) out.push_back(std::move(subset));
  }
  return out;
}

struct ProductWorkspace final : Workspace {
  ProductWorkspace(std::size_t functions, std::size_t partial, std::size_t features)
      : psi(functions), products(partial), lattice(features) {}
  std::vector<double> psi;            // of one record: column by column, order by order
  std::vector<double> products;       // of all columns of a subset but the last
  std::vector<std::int32_t> lattice;  // of one record
};

class HermiteProductBlock final : public Block {
 public:
  HermiteProductBlock(const HermiteProductMap& map, const Lattice& lattice)
      : dims_(map.dims()),
        features_(map.features()),
        terms_(map.recursion()),
        subsets_(map.subsets()),
        lattice_(lattice),
        // By construction the norm is at most 1; what doubles may add to it is far below 2^-40.
        scale_(static_cast<double>(lattice.scale()) * (1.0 - 0x1p-40) /
               std::sqrt(static_cast<double>(subsets_.size()))),
        used_(dims_) {
    for (const auto& subset : subsets_) {
      for (const std::size_t column : subset) used_[column] = true;
    }
  }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return features_; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<ProductWorkspace>(dims_ * terms_.count(),
                                              features_ / subsets_.size() / terms_.count(), features_);
  }
  Guard guard() const override { return Guard::of(lattice_); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<ProductWorkspace&>(workspace);
    for (std::size_t i = 0; i < n; ++i) {
      if (!sums.is_class(y[i]) || !functions(x + i * dims_, scratch.psi)) continue;
      std::int32_t* out = scratch.lattice.data();
      for (const std::vector<std::size_t>& subset : subsets_) out = multiply(subset, scratch, out);
      sums.add({scratch.lattice.data(), 0, features_}, std::span(y + i, 1));
    }
  }

 private:
  /// psi_0 .. psi_C of every number of a subset. @returns false  no record's numbers, or NaN
  bool functions(const float* x, std::vector<double>& psi) const {
    const std::size_t count = terms_.count();
    for (std::size_t j = 0; j < dims_; ++j) {
      const double t = static_cast<double>(x[j]) - 0.5;
      if (!(std::fabs(t) <= 1.0)) return false;
      if (!used_[j]) continue;
      double* const of = psi.data() + j * count;
      of[0] = terms_.first(t);
      for (std::size_t k = 1; k < count; ++k)
        of[k] = terms_.up[k] * t * of[k - 1] - (k > 1 ? terms_.back[k] * of[k - 2] : 0.0);
    }
    return true;
  }

  /// @returns where the next subset's numbers begin
  std::int32_t* multiply(const std::vector<std::size_t>& subset, ProductWorkspace& s,
                         std::int32_t* out) const {
    const std::size_t count = terms_.count();
    std::vector<double>& products = s.products;
    products[0] = scale_;
    std::size_t made = 1;
    for (std::size_t c = 0; c + 1 < subset.size(); ++c) {
      const double* const next = s.psi.data() + subset[c] * count;
      // From the back, so that no product is written over before it is used.
      for (std::size_t i = made; i-- > 0;) {
        const double product = products[i];
        for (std::size_t k = count; k-- > 0;) products[i * count + k] = product * next[k];
      }
      made *= count;
    }
    const double* const last = s.psi.data() + subset.back() * count;
    for (std::size_t i = 0; i < made; ++i) {
      for (std::size_t k = 0; k < count; ++k)  // toward zero
        *out++ = static_cast<std::int32_t>(std::clamp(products[i] * last[k], -0x1p30, 0x1p30));
    }
    return out;
  }

  std::size_t dims_, features_;
  HermiteRecursion terms_;
  Subsets subsets_;
  Lattice lattice_;
  double scale_;
  std::vector<bool> used_;  ///< of each column: some subset has it
};

class HermiteProduct final : public HermiteProductMap {
 public:
  std::string_view kind() const override { return "hermite-product"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<HermiteProduct>(*this); }

  void declare(settings::Keys& keys) override {
    functions_.declare(keys);
    keys.count("columns", columns_, 1, static_cast<std::int64_t>(kMostColumns),
               "p: numbers whose functions are multiplied; at most the record's");
    keys.count("subsets", count_, 1, static_cast<std::int64_t>(kMostSubsets),
               "S: how many different sets of p numbers; at most as many as there are");
    keys.count("seed", seed_, 0, INT64_MAX, "public seed of the sets");
  }

  void resolve(const schema::Schema& schema) override {
    dims_ = schema.dims();
    functions_.resolve();
    if (columns_ < 1 || columns_ > kMostColumns || count_ < 1 || count_ > kMostSubsets || dims_ == 0)
      throw ConfigError(fmt::format(
          "{} sets of {} numbers of {} cannot be multiplied: there may be 1 to {} sets of 1 to {}", count_,
          columns_, dims_, kMostSubsets, kMostColumns));
    columns_ = std::min<std::uint64_t>(columns_, dims_);
    count_ = std::min(count_, subsets_there_are(dims_, columns_));
    const double numbers = static_cast<double>(count_) *
                           std::pow(static_cast<double>(functions()), static_cast<double>(columns_));
    if (!(numbers <= kMostFeatures))
      throw ConfigError(
          fmt::format("{} sets of {} numbers with {} orders each are {:.3g} features, more than {:.3g}: "
                      "lower the order, or multiply fewer",
                      count_, columns_, functions(), numbers, kMostFeatures));
    if (dims_ > static_cast<std::size_t>(kMostFeatures) / functions())
      throw ConfigError(
          fmt::format("{} numbers a record x {} orders are too many features", dims_, functions()));
    subsets_ = draw_subsets(seed_, dims_, columns_, count_);
  }

  nlohmann::json to_json() const override {
    nlohmann::json json{{"columns", columns_}, {"subsets", count_}, {"seed", seed_}};
    functions_.write(json);
    return json;
  }
  void read_json(const JsonFields& f) override {
    f.only({"order", "length_scale", "stretch", "columns", "subsets", "seed"});
    functions_.read(f);
    columns_ = f.integer("columns", 1, kMostColumns);
    count_ = f.integer("subsets", 1, kMostSubsets);
    seed_ = f.integer("seed", 0, UINT64_MAX);
  }

  HermiteRecursion recursion() const override { return functions_.recursion(); }
  const Subsets& subsets() const override { return subsets_; }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override {
    std::size_t product = count_;
    for (std::uint64_t c = 0; c < columns_; ++c) product *= functions();
    return product;
  }
  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = false,
            .theorem =
                "Hermite features psi_0 .. psi_C of one number have a sum of squares of at most 1 (Mercer's "
                "expansion of the Gaussian kernel, whose value at equal arguments is 1); the squares of all "
                "products over the numbers of a subset sum to the product of those sums, at most 1, so S "
                "subsets, each / sqrt(S), have norm at most 1 (Vinaroz et al. 2022); enforced per record in "
                "integers: "
                "squared norm at most 2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    const long double count =
        static_cast<long double>(count_) *
        std::pow(static_cast<long double>(functions()), static_cast<long double>(columns_));
    return {1, false, {{std::round(count), std::pow(2.0L, lattice.bits)}}};
  }

  MapCost cost() const override {
    const std::uint64_t one = functions(), all = dims_ * one;
    return {2.0 * static_cast<double>(features()) + 4.0 * static_cast<double>(all),
            16 * one + 8 * count_ * columns_, 8 * all + (8 / one + 4) * features()};
  }
  double numbers_in_map() const override {
    return 2.0 * static_cast<double>(functions()) + static_cast<double>(count_ * columns_ + dims_);
  }
  std::string hash() const override {
    const HermiteRecursion r = recursion();
    std::vector<double> all{r.height, r.fall, static_cast<double>(dims_), static_cast<double>(seed_)};
    all.insert(all.end(), r.up.begin(), r.up.end());
    all.insert(all.end(), r.back.begin(), r.back.end());
    for (const auto& subset : subsets_) all.insert(all.end(), subset.begin(), subset.end());
    // Rounded, so that a last digit in which two maths libraries differ does not make another map.
    const std::vector<float> rounded(all.begin(), all.end());
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(rounded)))));
  }

  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    auto small = std::make_unique<HermiteProduct>(*this);
    small->count_ = std::clamp<std::uint64_t>(features / (this->features() / count_), 1, count_);
    small->subsets_.resize(small->count_);
    return small;
  }
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return std::make_unique<HermiteProductBlock>(*this, lattice);
  }

 private:
  /// C + 1
  std::size_t functions() const { return static_cast<std::size_t>(functions_.order) + 1; }

  HermiteSettings functions_;
  std::uint64_t columns_ = 2;  ///< p
  std::uint64_t count_ = 10;   ///< S
  std::uint64_t seed_ = 1;
  std::size_t dims_ = 0;
  Subsets subsets_;
};

}  // namespace

MapKind hermite_product_map() {
  return {"hermite-product",
          "products of Hermite features over public sets of numbers (DP-HP's product kernel): a network is "
          "trained on "
          "them",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<HermiteProduct>()); }};
}

}  // namespace muffle::features
