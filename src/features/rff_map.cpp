// Random Fourier features (Rahimi & Recht 2007), as in DP-MERF: phi(x) = sqrt(2/D) [cos(omega_j . x);
// sin(omega_j . x)].
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

const std::vector<std::pair<std::string, FrequencyKind>>& frequency_kinds() {
  static const std::vector<std::pair<std::string, FrequencyKind>> kinds{
      {"dense", FrequencyKind::kDense}, {"orthogonal", FrequencyKind::kOrthogonal}};
  return kinds;
}

}  // namespace

std::unique_ptr<FeatureMap> RffMap::clone() const { return std::make_unique<RffMap>(*this); }

void RffMap::declare(settings::Keys& keys) {
  keys.count("count", spec_.features, 0, 1 << 26, "D, even: random features");
  keys.number("length_scale", spec_.length_scale, kLengths,
              "l, public, in units of records scaled to [0, 1]");
  keys.choice("frequencies", spec_.kind, frequency_kinds(), "how the frequencies are drawn");
  keys.count("seed", spec_.seed, 0, INT64_MAX, "public seed of the frequencies");
}

void RffMap::resolve(const schema::Schema& schema) {
  spec_.dims = schema.dims();
  if (spec_.features < 2 || spec_.features > kMost || spec_.features % 2 != 0)
    throw ConfigError(
        fmt::format("count is {}: it is required, and must be even, a cosine and a sine for each frequency",
                    spec_.features));
  if (!kLengths.has(spec_.length_scale))
    throw ConfigError(
        fmt::format("the length-scale is {}, not {}", exact_text(spec_.length_scale), kLengths.text()));
}

nlohmann::json RffMap::to_json() const {
  return {{"dims", spec_.dims},
          {"features", spec_.features},
          {"length_scale", spec_.length_scale},
          {"frequencies", spec_.kind == FrequencyKind::kDense ? "dense" : "orthogonal"},
          {"seed", spec_.seed}};
}

void RffMap::read_json(const JsonFields& f) {
  f.only({"dims", "features", "length_scale", "frequencies", "seed"});
  spec_.dims = f.integer("dims", 1, kMost);
  spec_.features = f.integer("features", 2, kMost);
  spec_.length_scale = f.number("length_scale");
  spec_.kind = frequency_kinds().at(f.choice("frequencies", {"dense", "orthogonal"})).second;
  spec_.seed = f.integer("seed", 0, UINT64_MAX);
}

BlockBound RffMap::bound() const {
  return {.norm = 1.0,
          .nonnegative_kernel = false,
          .theorem =
              "Random Fourier features sqrt(2/D) [cos; sin] have norm 1 because cos^2 + sin^2 = 1 (Rahimi & "
              "Recht 2007); enforced per record in integers: squared norm at most 2^(2k)."};
}

std::vector<CoordinateRun> RffMap::coordinates(const Lattice& lattice) const {
  // What is checked is a norm of 2^k units, so that is what 1.0 must be to the noise.
  return {{spec_.features, std::ldexp(1.0, lattice.bits)}};
}

PlainFacts RffMap::plain_facts(const Lattice& lattice) const {
  return {1, false, {{static_cast<long double>(spec_.features), std::pow(2.0L, lattice.bits)}}};
}

double RffMap::scale(const Lattice& lattice) const { return static_cast<double>(lattice.scale()); }

MapCost RffMap::cost() const {
  const std::uint64_t d = spec_.dims, features = spec_.features;
  // A multiplication and an addition for each of D/2 frequencies and d numbers. Packed frequencies and, while
  // they are made, the plain ones; records and their lattice values.
  return {static_cast<double>(features) * static_cast<double>(d), 8 * (features / 2) * d,
          4 * kTile * (d + features)};
}

double RffMap::numbers_in_map() const {
  return 0.5 * static_cast<double>(spec_.features) * static_cast<double>(spec_.dims);
}

std::string RffMap::hash() const {
  const std::vector<float> frequencies = rff_frequencies(spec_);
  return to_hex(sha256(std::as_bytes(std::span(frequencies))));
}

std::unique_ptr<FeatureMap> RffMap::shrunk(std::size_t features) const {
  RffSpec small = spec_;
  small.features = std::min(small.features, features);
  return std::make_unique<RffMap>(small);
}

std::unique_ptr<Block> RffMap::make_block(const Lattice& lattice) const {
  return make_rff_block(spec_, lattice);
}

MapKind rff_map() {
  return {"rff", "random Fourier features of a Gaussian kernel: a network is trained on them",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<RffMap>()); }};
}

}  // namespace muffle::features
