// Random Fourier features (muffle/features/rff.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "aligned_buffer.hpp"
#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

constexpr settings::Range kLengths{1e-20, 1e20};
constexpr std::uint64_t kMost = std::uint64_t{1} << 31;

/// Substreams of Stream::kFrequencies, part of the artifact format: changing one changes every embedding.
enum Substream : std::uint32_t { kDirections = 0, kRowNorms = 1 };

void check(const RffSpec& spec) {
  // The range of lengths keeps every frequency a normal float.
  if (spec.features == 0 || spec.features % 2 != 0 || spec.dims == 0 ||
      !(spec.length_scale >= 1e-20 && spec.length_scale <= 1e20))
    throw ConfigError(fmt::format(
        "random Fourier features cannot be made: the number of features is {}, which must be even "
        "and positive, a record has {} numbers, which must be at least 1, and the length-scale is "
        "{}, which must be from 1e-20 to 1e20",
        spec.features, spec.dims, exact_text(spec.length_scale)));
}

std::size_t padded(std::size_t n) { return (n + 15) / 16 * 16; }

/// Gaussian rows made orthonormal by modified Gram-Schmidt, everything twice ("twice is enough": Kahan,
/// Parlett). In panels of rows, so that an earlier row is read once per panel.
void orthonormalise(AlignedBuffer<double>& matrix, std::size_t rows, std::size_t stride,
                    const Kernels& kernels) {
  constexpr std::size_t kRows = 4;
  const auto row = [&](std::size_t i) { return matrix.data() + i * stride; };
  for (std::size_t begin = 0; begin < rows; begin += kRows) {
    const std::size_t count = std::min(kRows, rows - begin);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t q = 0; q < begin; ++q) kernels.project_out(row(q), row(begin), count, stride);
      for (std::size_t i = begin; i < begin + count; ++i) {
        for (std::size_t q = begin; q < i; ++q) kernels.project_out(row(q), row(i), 1, stride);
        const double norm = std::sqrt(kernels.dot(row(i), row(i), stride));
        require(norm > 0, "Gaussian rows were linearly dependent: choose another feature seed");
        for (std::size_t c = 0; c < stride; ++c) row(i)[c] /= norm;
      }
    }
  }
}

/// Frequencies first .. first + rows - 1: orthogonal rows, each as long as an independent Gaussian vector.
void orthogonal_block(const RffSpec& spec, std::size_t first, std::size_t rows, double to_turns,
                      std::vector<float>& omega, const Kernels& kernels) {
  const CounterStream directions(spec.seed, Stream::kFrequencies, kDirections);
  const CounterStream norms(spec.seed, Stream::kFrequencies, kRowNorms);
  const std::size_t dims = spec.dims, stride = padded(dims);
  AlignedBuffer<double> matrix(rows * stride);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < dims; ++c)
      matrix.data()[i * stride + c] = directions.normal((first + i) * dims + c);
  }
  orthonormalise(matrix, rows, stride, kernels);
  AlignedBuffer<double> gaussian(stride);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < dims; ++c) gaussian.data()[c] = norms.normal((first + i) * dims + c);
    const double length = std::sqrt(kernels.dot(gaussian.data(), gaussian.data(), stride)) / to_turns;
    for (std::size_t c = 0; c < dims; ++c)
      omega[(first + i) * dims + c] = static_cast<float>(matrix.data()[i * stride + c] * length);
  }
}

/// Records per tile. Large, because the frequencies are read from memory once per tile; not larger, so that
/// its lattice values are still in the L2 cache when they are checked and added. A multiple of every group.
constexpr std::size_t kTile = 48;
static_assert(kTile <= Accumulator::kMostRows);

struct RffWorkspace final : Workspace {
  RffWorkspace(std::size_t record_numbers, std::size_t feature_numbers)
      : records(record_numbers), features(feature_numbers) {}
  AlignedBuffer<float> records;          // groups x dims x group
  AlignedBuffer<std::int32_t> features;  // tile x 2 half_
};

class RffBlock final : public Block {
 public:
  RffBlock(const RffSpec& spec, const Lattice& lattice, const Kernels& kernels)
      : spec_(spec),
        lattice_(lattice),
        kernels_(kernels),
        frequency_count_(spec.features / 2),
        panels_((frequency_count_ + kernels.panel - 1) / kernels.panel),
        half_(panels_ * kernels.panel),
        scale_(rff_lattice_scale(spec.features, lattice)),
        packed_(half_ * spec.dims) {
    const std::vector<float> omega = rff_frequencies(spec, kernels);
    for (std::size_t j = 0; j < frequency_count_; ++j) {
      float* panel = packed_.data() + j / kernels.panel * spec.dims * kernels.panel + j % kernels.panel;
      for (std::size_t c = 0; c < spec.dims; ++c) panel[c * kernels.panel] = 4.0f * omega[j * spec.dims + c];
    }
  }

  std::size_t dims() const override { return spec_.dims; }
  std::size_t features() const override { return spec_.features; }
  std::size_t tile() const override { return kTile; }

  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<RffWorkspace>(kTile * spec_.dims, kTile * 2 * half_);
  }

  Guard guard() const override { return Guard::of(lattice_); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<RffWorkspace&>(workspace);
    const std::size_t groups = pack(x, n, scratch.records.data());
    kernels_.rff(packed_.data(), panels_, spec_.dims, scratch.records.data(), groups, scale_,
                 scratch.features.data());
    sums.add({scratch.features.data(), 2 * half_, frequency_count_, 2, half_}, std::span(y, n), kernels_);
  }

 private:
  /// Interleaves the records of each group, number by number; the last group is filled up with zeros.
  std::size_t pack(const float* x, std::size_t n, float* packed) const {
    const std::size_t dims = spec_.dims, group = kernels_.group;
    const std::size_t groups = (n + group - 1) / group;
    for (std::size_t i = 0; i < groups * group; ++i) {
      float* to = packed + i / group * dims * group + i % group;
      for (std::size_t c = 0; c < dims; ++c) to[c * group] = i < n ? x[i * dims + c] : 0.0f;
    }
    return groups;
  }

  RffSpec spec_;
  Lattice lattice_;
  const Kernels& kernels_;
  std::size_t frequency_count_;
  std::size_t panels_;
  std::size_t half_;  ///< cosines stored per record: frequency_count_, filled up to whole panels
  float scale_;
  AlignedBuffer<float> packed_;  ///< panels x dims x panel, quarter turns
};

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
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(frequencies)))));
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

std::vector<float> rff_frequencies(const RffSpec& spec, const Kernels& kernels) {
  check(spec);
  const std::size_t count = spec.features / 2;
  const double to_turns = spec.length_scale * (2.0 * std::numbers::pi);
  std::vector<float> omega(count * spec.dims);
  if (spec.kind == FrequencyKind::kOrthogonal) {
    for (std::size_t first = 0; first < count; first += spec.dims)
      orthogonal_block(spec, first, std::min(spec.dims, count - first), to_turns, omega, kernels);
  } else {
    const CounterStream directions(spec.seed, Stream::kFrequencies, kDirections);
    for (std::size_t i = 0; i < omega.size(); ++i)
      omega[i] = static_cast<float>(directions.normal(i) / to_turns);
  }
  return omega;
}

float rff_lattice_scale(std::size_t features, const Lattice& lattice) {
  const double scale =
      std::sqrt(2.0 / static_cast<double>(features)) * static_cast<double>(lattice.scale()) * (1.0 - 0x1p-22);
  const float rounded = static_cast<float>(scale);
  return static_cast<double>(rounded) > scale ? std::nextafter(rounded, 0.0f) : rounded;
}

std::unique_ptr<Block> make_rff_block(const RffSpec& spec, const Lattice& lattice, const Kernels& kernels) {
  require_no_overflow(0, lattice);
  return std::make_unique<RffBlock>(spec, lattice, kernels);
}

std::unique_ptr<FeatureMap> make_rff_map(const RffSpec& spec) { return std::make_unique<Rff>(spec); }

MapKind rff_map() {
  return {"rff", "random Fourier features of a Gaussian kernel: a network is trained on them",
          [] { return make_rff_map({}); }};
}

}  // namespace muffle::features
