// Second moments z z^T of lifted records (docs/explanation/moments.md; muffle/features/second_moments.hpp).
#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lift_settings.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/features/feature_map.hpp"

namespace muffle::features {
namespace {

constexpr int kLeastBits = 8, kMostBits = 20;

class MomentsMap final : public FeatureMap {
 public:
  MomentsMap() = default;
  MomentsMap(const MomentsMap& other)
      : lift_name_(other.lift_name_),
        lift_(other.lift_ ? other.lift_->clone() : nullptr),
        offset_(other.offset_),
        bits_(other.bits_) {}

  std::string_view kind() const override { return "moments"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<MomentsMap>(*this); }

  void declare(settings::Keys& keys) override {
    // The lift's own keys are there once it is known: `lift` stands before them.
    std::vector<std::string> known = names_of(lift_kinds());
    known.insert(known.begin(), kAuto);
    const std::string listed = fmt::format("\"{}\"", fmt::join(known, "\", \""));
    keys.add({"lift",
              {},
              "what is squared; auto: what is natural for the records (" + listed + ")",
              [this, known, listed](const settings::Value& v) {
                if (v.kind != settings::Value::Kind::kString ||
                    std::ranges::find(known, v.text) == known.end())
                  return settings::wanted("one of " + listed, v);
                lift_name_ = v.text;
                lift_ = v.text == kAuto ? nullptr : make_lift(v.text);
                return std::string();
              },
              [this] { return settings::toml_string(lift_name_); }});
    keys.number("offset", offset_, {0, 1e6}, "the constant beside the coefficients; 0: by the records' size");
    keys.count("bits", bits_, kLeastBits, kMostBits, "of the integers that are squared");
    if (lift_) lift_->declare(keys);
  }

  void tell_further_keys(
      const std::function<void(const std::string&, const std::vector<settings::Key>&)>& tell) const override {
    for (const LiftKind& kind : lift_kinds()) {
      const std::unique_ptr<Lift> lift = kind.make();
      settings::Keys keys("map.NAME", settings::Stage::kRelease);
      lift->declare(keys);
      tell(fmt::format("lift = \"{}\": {}", kind.name, kind.summary), keys.take());
    }
  }

  void prepare(const schema::Schema& schema) override {
    if (lift_) return;
    for (const LiftKind& kind : lift_kinds()) {
      std::unique_ptr<Lift> candidate = kind.make();
      if (!candidate->is_natural_for(schema)) continue;
      lift_ = std::move(candidate);
      return;
    }
  }
  void choose_sizes(const schema::Schema& schema, double noise) override {
    if (lift_) lift_->choose_sizes(schema, noise);
  }

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
    lift_name_ = f.text("lift", 64);
    try {
      lift_ = make_lift(lift_name_);
    } catch (const ConfigError& e) {
      f.fail("lift", e.what());
    }
    lift_->read_json(f.object("lift_settings"));
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
    // The lower triangle of z z^T, and the lift.
    return {static_cast<double>(q) * static_cast<double>(q + 1) + lift_->flops_per_record(),
            8 * static_cast<std::uint64_t>(numbers_in_map()), kMomentsTile * (4 * d + 8 * q) + 8 * q * q};
  }
  double numbers_in_map() const override { return lift_->numbers_in_map(); }
  std::string hash() const override {
    const SecondMoments& moments = *second_moments();
    const std::vector<double> all = joined(
        {moments.lift->numbers(), {static_cast<double>(dims()), static_cast<double>(order() - 1), offset_}});
    Sha256 hash;
    hash.update(std::string(moments.lift->kind()) + "\n");
    hash.update(std::as_bytes(std::span(all)));
    return to_hex(hash.digest());
  }

  /// A record's z has length 1, so the trace of z z^T counts it; the diagonal comes first.
  std::optional<CountsInside> counts_inside() const override { return CountsInside{order(), scale({})}; }

  bool has_second_moments() const override { return true; }
  const SecondMoments* second_moments() const override {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (!built_) {
      std::unique_ptr<Lift> lift = lift_->clone();
      lift->build();
      built_ = std::make_shared<const SecondMoments>(SecondMoments{std::move(lift), offset_, bits_});
    }
    return built_.get();
  }

  std::unique_ptr<Block> make_block(const Lattice&) const override {
    return make_moments_block(*second_moments());
  }

 private:
  static constexpr const char* kAuto = "auto";

  std::size_t order() const { return 1 + lift_->coefficients(); }

  std::string lift_name_ = kAuto;
  std::unique_ptr<Lift> lift_;  ///< null: left open
  double offset_ = 0.0;         ///< c0; 0: left open
  int bits_ = 16;
  mutable std::shared_ptr<const SecondMoments> built_;
};

}  // namespace

MapKind moments_map() {
  return {"moments", "second moments of lifted records: a generator in closed form, without training",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<MomentsMap>()); }};
}

}  // namespace muffle::features
