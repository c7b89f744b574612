// Random Fourier features (muffle/features/rff.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

constexpr settings::Range kLengths{1e-20, 1e20};
constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
/// Records that a thread embeds at a time (rff_block.cpp); an estimate needs no more.
constexpr std::uint64_t kTile = 48;

class Rff final : public RffMap {
 public:
  explicit Rff(const RffSpec& spec) : spec_(spec) {}
  const RffSpec& spec() const override { return spec_; }

  std::string_view kind() const override { return "rff"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<Rff>(*this); }

  void declare(settings::Keys& keys) override {
    keys.count("count", spec_.features, 0, 1 << 26, "D, even: random features");
    keys.number("length_scale", spec_.length_scale, kLengths,
                "l, public, in units of records scaled to [0, 1]");
    keys.choice("frequencies", spec_.kind,
                {{"dense", FrequencyKind::kDense}, {"orthogonal", FrequencyKind::kOrthogonal}},
                "how the frequencies are drawn");
    keys.count("seed", spec_.seed, 0, INT64_MAX, "public seed of the frequencies");
  }

  void resolve(const schema::Schema& schema) override {
    spec_.dims = schema.dims();
    if (spec_.features < 2 || spec_.features > kMost || spec_.features % 2 != 0)
      throw ConfigError(
          fmt::format("count is {}: it is required, and must be even, a cosine and a sine for each frequency",
                      spec_.features));
    if (!kLengths.has(spec_.length_scale))
      throw ConfigError(
          fmt::format("the length-scale is {}, not {}", exact_text(spec_.length_scale), kLengths.text()));
  }

  nlohmann::json to_json() const override {
    return {{"dims", spec_.dims},
            {"features", spec_.features},
            {"length_scale", spec_.length_scale},
            {"frequencies", spec_.kind == FrequencyKind::kDense ? "dense" : "orthogonal"},
            {"seed", spec_.seed}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"dims", "features", "length_scale", "frequencies", "seed"});
    spec_.dims = f.integer("dims", 1, kMost);
    spec_.features = f.integer("features", 2, kMost);
    spec_.length_scale = f.number("length_scale");
    spec_.kind = f.choice("frequencies", {"dense", "orthogonal"}) == 0 ? FrequencyKind::kDense
                                                                       : FrequencyKind::kOrthogonal;
    spec_.seed = f.integer("seed", 0, UINT64_MAX);
  }

  std::size_t dims() const override { return spec_.dims; }
  std::size_t features() const override { return spec_.features; }
  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = false,
            .theorem =
                "Random Fourier features sqrt(2/D) [cos; sin] have norm 1 because cos^2 + sin^2 = 1 (Rahimi "
                "& Recht 2007); enforced per record in integers: squared norm at most 2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    return {1, false, {{static_cast<long double>(spec_.features), std::pow(2.0L, lattice.bits)}}};
  }

  MapCost cost() const override {
    const std::uint64_t d = spec_.dims, features = spec_.features;
    // A multiplication and an addition for each of D/2 frequencies and d numbers. Packed frequencies and,
    // while they are made, the plain ones; records and their lattice values.
    return {static_cast<double>(features) * static_cast<double>(d), 8 * (features / 2) * d,
            4 * kTile * (d + features)};
  }
  double numbers_in_map() const override {
    return 0.5 * static_cast<double>(spec_.features) * static_cast<double>(spec_.dims);
  }
  std::string hash() const override {
    const std::vector<float> frequencies = rff_frequencies(spec_);
    return to_hex(sha256(std::as_bytes(std::span(frequencies))));
  }
  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    RffSpec small = spec_;
    small.features = std::min(small.features, features);
    return std::make_unique<Rff>(small);
  }
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    return make_rff_block(spec_, lattice);
  }

 private:
  RffSpec spec_;
};

}  // namespace

std::unique_ptr<FeatureMap> make_rff_map(const RffSpec& spec) { return std::make_unique<Rff>(spec); }

MapKind rff_map() {
  return {"rff", "random Fourier features of a Gaussian kernel: a network is trained on them",
          [] { return make_rff_map({}); }};
}

}  // namespace muffle::features
