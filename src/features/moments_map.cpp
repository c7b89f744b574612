// Second moments z z^T of lifted records (docs/explanation/moments.md; muffle/features/lift.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "kernels.hpp"
#include "lift_settings.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/rff.hpp"
#include "outer_products.hpp"

namespace muffle::features {
namespace {

/// Records per tile: enough to fill a matrix product for each of ten classes.
constexpr std::size_t kTile = 1024;
/// With |z_i z_j| <= 2^(2 bits) <= 2^40, every partial sum of a tile is an integer below 2^51: doubles add
/// and multiply them exactly, in any order, with fused operations or without (Kernels::add_gram).
constexpr int kLeastBits = 8, kMostBits = 20;
static_assert(kTile < std::size_t{1} << (51 - 2 * kMostBits));

/// Records whose z is made at a time.
constexpr std::size_t kGroup = 4;

struct MomentsWorkspace final : Workspace {
  MomentsWorkspace(std::size_t order, const Kernels& kernels)
      : rows(kGroup * order), products(kTile, order, kernels) {}
  std::vector<double> rows;  // kGroup x order
  OuterProducts products;    // of one class's accepted records
};

class MomentsBlock final : public Block {
 public:
  explicit MomentsBlock(const SecondMoments& moments)
      : moments_(moments),
        lift_(*moments_.lift),
        kernels_(best_kernels()),
        order_(moments.order()),
        scale_(moments.scale()) {}

  std::size_t dims() const override { return lift_.dims(); }
  std::size_t features() const override { return order_ * (order_ + 1) / 2; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<MomentsWorkspace>(order_, kernels_);
  }
  /// Of z, whose products then keep to the square of it.
  Guard guard() const override { return Guard::of({moments_.bits}); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<MomentsWorkspace&>(workspace);
    std::array<std::uint16_t, kTile> by_class;
    std::iota(by_class.begin(), by_class.begin() + n, std::uint16_t{0});
    std::sort(by_class.begin(), by_class.begin() + n,
              [&](std::uint16_t a, std::uint16_t b) { return y[a] < y[b]; });

    for (std::size_t i = 0; i < n;) {
      const std::int32_t label = y[by_class[i]];
      const bool known = sums.is_class(label);
      while (i < n && y[by_class[i]] == label) {
        std::array<const float*, kGroup> group;
        std::size_t taken = 0;
        for (; taken < kGroup && i < n && y[by_class[i]] == label; ++i)
          group[taken++] = x + by_class[i] * dims();
        if (known) make_z(std::span(group).first(taken), scratch, sums);
      }
      if (known) sums.add(scratch.products, label);
    }
  }

 private:
  /// The integers z of the records: not those of what is no number, which are too large for a norm.
  void make_z(std::span<const float* const> records, MomentsWorkspace& scratch,
              const Accumulator& sums) const {
    const std::size_t n = records.size();
    double* const rows = scratch.rows.data();
    for (std::size_t r = 0; r < n; ++r) rows[r * order_] = moments_.offset;
    lift_.forward_all(records, rows + 1, order_);
    // Each a sum in order; side by side, because each waits for its last number.
    std::array<double, kGroup> squares{};
    for (std::size_t i = 0; i < order_; ++i) {
      for (std::size_t r = 0; r < kGroup; ++r) squares[r] += rows[r * order_ + i] * rows[r * order_ + i];
    }
    for (std::size_t r = 0; r < n; ++r) {
      double* const z = rows + r * order_;
      const double factor = scale_ / std::sqrt(squares[r]);
      for (std::size_t i = 0; i < order_; ++i) z[i] = nearest_integer(z[i] * factor);
      sums.take(std::span(z, order_), scratch.products);
    }
  }

  /// std::nearbyint() of what is below 2^51 in size; what is larger, or no number, stays too large for a
  /// norm.
  static double nearest_integer(double v) { return (v + 0x1.8p52) - 0x1.8p52; }

  SecondMoments moments_;
  const Lift& lift_;
  const Kernels& kernels_;
  std::size_t order_;
  double scale_;
};

class MomentsMap final : public FeatureMap, private SecondMomentFeatures {
 public:
  MomentsMap() = default;
  MomentsMap(const MomentsMap& other)
      : FeatureMap(other),
        SecondMomentFeatures(other),
        lift_name_(other.lift_name_),
        lift_(other.lift_ ? other.lift_->clone() : nullptr),
        offset_(other.offset_),
        bits_(other.bits_) {}

  std::string_view kind() const override { return "moments"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<MomentsMap>(*this); }

  void declare(settings::Keys& keys) override {
    declare_lift(keys, LiftsOf::kAll, "what is squared; auto: what is natural for the records", lift_name_,
                 lift_);
    keys.number("offset", offset_, {0, 1e6},
                "the constant beside the coefficients; 0: by the records' size and the noise");
    keys.count("bits", bits_, kLeastBits, kMostBits, "of the integers that are squared");
    if (lift_) lift_->declare(keys);
  }

  void tell_further_keys(
      const std::function<void(const std::string&, const std::vector<settings::Key>&)>& tell) const override {
    tell_lift_keys(LiftsOf::kAll, tell);
  }

  void prepare(const schema::Schema& schema) override {
    if (!lift_) lift_ = natural_lift(LiftsOf::kAll, schema);
  }
  void choose_sizes(const schema::Schema& schema, double noise) override {
    if (lift_) offset_ = lift_->choose_sizes(schema, noise, offset_);
  }

  std::string outlook(double noise, double) const override { return lift_->outlook(noise, offset_); }

  void resolve(const schema::Schema& schema) override {
    prepare(schema);
    if (!lift_)
      throw ConfigError("second moments cannot be made: no lift is natural for such records; name one.");
    lift_->resolve(schema);
    lift_name_ = lift_->kind();
    if (offset_ == 0.0) offset_ = lift_->default_offset();
    LiftProblems problems;
    problems.within("the offset", offset_, 1e-6, 1e6);
    problems.unless(bits_ >= kLeastBits && bits_ <= kMostBits,
                    fmt::format("the bits are {}, not {} to {}", bits_, kLeastBits, kMostBits));
    // z must keep a length of its own beside the rounding.
    if (problems.empty())
      problems.unless(SecondMoments::scale(order(), bits_) >= std::ldexp(0.5, bits_),
                      fmt::format("{} bits are too few for {} numbers: use more", bits_, order()));
    problems.done();
  }

  nlohmann::json to_json() const override {
    nlohmann::json json = lift_->to_json();
    return {
        {"lift", lift_->kind()}, {"lift_settings", std::move(json)}, {"offset", offset_}, {"bits", bits_}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"lift", "lift_settings", "offset", "bits"});
    lift_ = read_lift(f);
    lift_name_ = lift_->kind();
    offset_ = f.number("offset");
    bits_ = static_cast<int>(f.integer("bits", kLeastBits, kMostBits));
  }

  std::size_t dims() const override { return lift_->dims(); }
  std::size_t features() const override { return order() * (order() + 1) / 2; }

  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = true,
            .theorem =
                "Second moments z z^T of an integer vector z have norm ||z||^2 / 2^(2b) <= 1 and the kernel "
                "(z . z')^2 / 2^(4b) >= 0, a square; enforced per record in integers: squared norm of z at "
                "most 2^(2b)."};
  }

  std::vector<CoordinateRun> coordinates(const Lattice&) const override {
    const std::uint64_t q = order();
    const double unit = std::ldexp(1.0, 2 * bits_);
    // 2^(2b) / sqrt(2) = 2^(2b - 1) sqrt(2); this double is above sqrt(2).
    constexpr double kSqrt2Up = 0x1.6a09e667f3bcdp+0;
    std::vector<CoordinateRun> runs{{q, unit}};
    if (q > 1) runs.push_back({q * (q - 1) / 2, 0.5 * unit * kSqrt2Up});
    return runs;
  }

  PlainFacts plain_facts(const Lattice&) const override {
    const long double q = 1 + lift_->plain_coefficients(), unit = std::pow(2.0L, 2 * bits_);
    PlainFacts facts{1, true, {{q, unit}}};
    if (q > 1) facts.runs.push_back({q * (q - 1) / 2, unit / std::numbers::sqrt2_v<long double>});
    return facts;
  }

  double scale(const Lattice&) const override {
    const double scale = SecondMoments::scale(order(), bits_);
    return scale * scale;
  }

  void require_no_overflow(std::uint64_t records, const Lattice&) const override {
    if (records < std::uint64_t{1} << (62 - 2 * bits_)) return;
    throw ConfigError(
        fmt::format("the second moments of {} records, held with {} bits, could overflow a 64-bit sum: the "
                    "number of records must be below 2^{}; lower the map's bits or split the data set",
                    records, bits_, 62 - 2 * bits_));
  }

  MapCost cost() const override {
    const std::uint64_t q = order(), d = dims();
    // The upper triangle of z z^T, and the lift.
    return {static_cast<double>(q) * static_cast<double>(q + 1) + lift_->flops_per_record(),
            8 * static_cast<std::uint64_t>(numbers_in_map()),
            kTile * (4 * d + 8 * OuterProducts::packed_numbers(q, best_kernels())) + 8 * kGroup * q};
  }
  double numbers_in_map() const override { return lift_->numbers_in_map(); }
  std::string hash() const override {
    const SecondMoments& built = moments();
    const std::vector<double> all = joined(
        {built.lift->numbers(), {static_cast<double>(dims()), static_cast<double>(order() - 1), offset_}});
    Sha256 hash;
    hash.update(PublicBytes(std::string(built.lift->kind()) + "\n"));
    hash.update(PublicBytes(std::as_bytes(std::span(all))));
    return to_hex(hash.digest());
  }

  /// A record's z has length 1, so the trace of z z^T counts it; the diagonal comes first.
  std::optional<CountsInside> counts_inside(const Lattice&) const override {
    return lift_ ? CountsInside{order(), scale({})} : CountsInside{};
  }

  const SecondMomentFeatures* second_moments() const override { return this; }
  const SecondMoments& moments() const override {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (!built_) {
      std::unique_ptr<Lift> lift = lift_->clone();
      lift->build();
      built_ = std::make_shared<const SecondMoments>(SecondMoments{std::move(lift), offset_, bits_});
    }
    return *built_;
  }

  std::unique_ptr<Block> make_block(const Lattice&) const override {
    return std::make_unique<MomentsBlock>(moments());
  }

 private:
  std::size_t order() const { return 1 + lift_->coefficients(); }

  std::string lift_name_ = kLiftLeftOpen;
  std::unique_ptr<Lift> lift_;  ///< null: left open
  double offset_ = 0.0;         ///< c0; 0: left open
  int bits_ = 16;
  mutable std::shared_ptr<const SecondMoments> built_;
};

}  // namespace

bool within_norm(std::span<const double> z, int bits) {
  const double most = std::ldexp(1.0, bits);
  std::uint64_t squares = 0;
  for (const double v : z) {
    if (!(std::fabs(v) <= most)) return false;  // nor NaN
    const auto integer = static_cast<std::int64_t>(v);
    squares += static_cast<std::uint64_t>(integer * integer);  // at most 2^13 terms of 2^40
  }
  return squares <= std::uint64_t{1} << (2 * bits);
}

double SecondMoments::scale(std::size_t order, int bits) {
  return std::ldexp(1.0, bits) - 0.5 * std::sqrt(static_cast<double>(order)) - 1.0;
}

MapKind moments_map() {
  return {"moments", "second moments of lifted records: a generator in closed form, without training",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<MomentsMap>()); }};
}

}  // namespace muffle::features
