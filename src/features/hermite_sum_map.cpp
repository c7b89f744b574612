// The sum kernel of DP-HP (Vinaroz et al., ICML 2022): Hermite features of each number of a record, side by
// side (docs/math.md, "feature maps"): phi(x) = [psi_k(g (x_j - 1/2))] / sqrt(d), k = 0 .. C, j = 1 .. d.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/hermite_sum.hpp"

namespace muffle::features {
namespace {

constexpr std::uint64_t kMostOrder = 200;
/// Networks are trained in single precision, which exp(-25^2 / 8) still fits.
constexpr double kMostStretch = 25.0;
constexpr settings::Range kLengths{1e-3, 1e3}, kStretches{1e-2, kMostStretch};
constexpr std::size_t kMostFeatures = std::size_t{1} << 26;
constexpr std::size_t kTile = 64;

struct HermiteWorkspace final : Workspace {
  HermiteWorkspace(std::size_t dims, std::size_t features)
      : t(dims), before(dims), last(dims), lattice(features) {}
  std::vector<double> t, before, last;  // of one record: the centred numbers, psi_{k-1} and psi_k of each
  std::vector<std::int32_t> lattice;    // of one record: order by order
};

class HermiteSumBlock final : public Block {
 public:
  HermiteSumBlock(const HermiteSumMap& map, const Lattice& lattice)
      : dims_(map.dims()),
        terms_(map.recursion()),
        lattice_(lattice),
        // By construction the norm is at most 1; what doubles may add to it is far below 2^-40.
        scale_(static_cast<double>(lattice.scale()) * (1.0 - 0x1p-40) /
               std::sqrt(static_cast<double>(dims_))) {}

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return dims_ * terms_.count(); }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<HermiteWorkspace>(dims_, features());
  }

  Guard guard() const override { return Guard::of(lattice_); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<HermiteWorkspace&>(workspace);
    for (std::size_t i = 0; i < n; ++i) {
      if (!sums.is_class(y[i]) || !lift(x + i * dims_, scratch)) continue;
      sums.add({scratch.lattice.data(), 0, features()}, std::span(y + i, 1));
    }
  }

 private:
  /// Order by order, so that the loops over the record's numbers become vectors.
  /// @returns false  no record's numbers, or NaN
  bool lift(const float* x, HermiteWorkspace& s) const {
    for (std::size_t j = 0; j < dims_; ++j) {
      s.t[j] = static_cast<double>(x[j]) - 0.5;
      if (!(std::fabs(s.t[j]) <= 1.0)) return false;  // no record's number, nor NaN
      s.before[j] = 0.0;
      s.last[j] = terms_.first(s.t[j]);
    }
    for (std::size_t k = 0; k < terms_.count(); ++k) {
      if (k > 0) {
        const double up = terms_.up[k], back = terms_.back[k];
        for (std::size_t j = 0; j < dims_; ++j) {
          const double next = up * s.t[j] * s.last[j] - back * s.before[j];
          s.before[j] = s.last[j];
          s.last[j] = next;
        }
      }
      std::int32_t* const out = s.lattice.data() + k * dims_;
      for (std::size_t j = 0; j < dims_; ++j)
        out[j] = static_cast<std::int32_t>(std::clamp(scale_ * s.last[j], -0x1p30, 0x1p30));  // toward zero
    }
    return true;
  }

  std::size_t dims_;
  HermiteRecursion terms_;
  Lattice lattice_;
  double scale_;
};

class HermiteSum final : public HermiteSumMap {
 public:
  std::string_view kind() const override { return "hermite-sum"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<HermiteSum>(*this); }

  void declare(settings::Keys& keys) override { functions_.declare(keys); }

  void resolve(const schema::Schema& schema) override {
    dims_ = schema.dims();
    functions_.resolve();
    if (dims_ == 0 || dims_ > kMostFeatures / functions())
      throw ConfigError(
          fmt::format("{} numbers a record x {} orders are too many features", dims_, functions()));
  }

  nlohmann::json to_json() const override {
    nlohmann::json json;
    functions_.write(json);
    return json;
  }
  void read_json(const JsonFields& f) override {
    f.only({"order", "length_scale", "stretch"});
    functions_.read(f);
  }

  HermiteRecursion recursion() const override { return functions_.recursion(); }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return dims_ * functions(); }
  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = false,
            .theorem =
                "Hermite features psi_0 .. psi_C of one number have a sum of squares of at most 1 (Mercer's "
                "expansion of the Gaussian kernel, whose value at equal arguments is 1), so those of d "
                "numbers, each / sqrt(d), have norm at most 1 (Vinaroz et al. 2022); enforced per record in "
                "integers: squared norm at most 2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    const long double count = static_cast<long double>(dims_) * static_cast<long double>(functions());
    return {1, false, {{count, std::pow(2.0L, lattice.bits)}}};
  }

  MapCost cost() const override {
    return {4.0 * static_cast<double>(features()), 16 * functions(), 24 * dims_ + 4 * features()};
  }
  double numbers_in_map() const override { return 2.0 * static_cast<double>(functions()); }
  std::string hash() const override {
    const HermiteRecursion r = recursion();
    std::vector<double> all{r.height, r.fall, static_cast<double>(dims_)};
    all.insert(all.end(), r.up.begin(), r.up.end());
    all.insert(all.end(), r.back.begin(), r.back.end());
    // Rounded, so that a last digit in which two maths libraries differ does not make another map.
    const std::vector<float> rounded(all.begin(), all.end());
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(rounded)))));
  }

  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return std::make_unique<HermiteSumBlock>(*this, lattice);
  }

 private:
  /// C + 1
  std::size_t functions() const { return static_cast<std::size_t>(functions_.order) + 1; }

  HermiteSettings functions_;
  std::size_t dims_ = 0;
};

}  // namespace

HermiteRecursion::HermiteRecursion(double rho, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const auto order = static_cast<double>(std::max<std::size_t>(k, 1));
    up.push_back(std::sqrt(2.0 * rho / order));
    back.push_back(rho * std::sqrt((order - 1.0) / order));
  }
}

HermiteRecursion HermiteRecursion::of_length_scale(double l, std::size_t count, double stretch) {
  l *= stretch;
  // rho / (1 - rho^2) = 1 / (2 l^2) =: a, so rho = (sqrt(1 + 4 a^2) - 1) / (2 a), here not cancelling.
  const double a = 1.0 / (2.0 * l * l), rho = 2.0 * a / (std::sqrt(1.0 + 4.0 * a * a) + 1.0);
  HermiteRecursion r(rho, count);
  r.height = std::sqrt(std::sqrt(rho / a));  // 1 - rho^2 = rho / a, which keeps its digits near rho = 1
  r.fall = stretch * stretch * rho / (1.0 + rho);
  for (double& up : r.up) up *= stretch;
  return r;
}

void HermiteSettings::declare(settings::Keys& keys) {
  keys.count("order", order, 0, static_cast<std::int64_t>(kMostOrder),
             "C: Hermite functions 0 to C of each number");
  keys.number("length_scale", length_scale, kLengths, "l, public, in units of records scaled to [0, 1]");
  keys.number("stretch", stretch, {0.0, kMostStretch},
              "g, public: functions of g (x - 1/2), for the same kernel; 0: 2 sqrt(C), where C orders come "
              "closest to it, or 25 if that is less");
}

void HermiteSettings::resolve() {
  if (!kLengths.has(length_scale))
    throw ConfigError(
        fmt::format("the length-scale is {}, not {}", exact_text(length_scale), kLengths.text()));
  if (order > kMostOrder) throw ConfigError(fmt::format("the order is {}, above {}", order, kMostOrder));
  if (stretch == 0.0)
    stretch = std::min(2.0 * std::sqrt(static_cast<double>(std::max<std::uint64_t>(order, 1))), kMostStretch);
  if (!kStretches.has(stretch))
    throw ConfigError(
        fmt::format("the stretch is {}, neither 0 nor {}", exact_text(stretch), kStretches.text()));
}

void HermiteSettings::write(nlohmann::json& json) const {
  json["order"] = order;
  json["length_scale"] = length_scale;
  if (stretch != 1.0)
    json["stretch"] = stretch;  // releases from before there was one are read, and plans keep their names
}

void HermiteSettings::read(const JsonFields& fields) {
  order = fields.integer("order", 0, kMostOrder);
  length_scale = fields.number("length_scale");
  stretch = fields.has("stretch") ? fields.number("stretch") : 1.0;
  if (stretch == 0.0) fields.fail("stretch", "is 0, which a release does not leave open");
}

MapKind hermite_sum_map() {
  return {"hermite-sum",
          "Hermite features of each number of a record (DP-HP's sum kernel): a network is trained on them",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<HermiteSum>()); }};
}

}  // namespace muffle::features
