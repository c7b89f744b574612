// Structured random Fourier features (muffle/features/structured_rff.hpp): O(log d) a feature in place of
// O(d).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
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
#include "muffle/features/structured_rff.hpp"

namespace muffle::features {
namespace {

constexpr settings::Range kLengths{1e-3, 1e6};
constexpr std::uint64_t kMostFeatures = std::uint64_t{1} << 26, kMostDims = std::uint64_t{1} << 20;
constexpr std::size_t kLeastSize = 64;
constexpr std::size_t kTile = 3 * kInterleaved;
static_assert(kTile <= Accumulator::kMostRows);

/// Substreams of Stream::kFrequencies (rff_map.cpp has the others), part of the artifact format.
constexpr std::uint32_t kSigns = 3, kChi = 4;

/// Draw `j` of the squared length of a vector of `size` standard normal numbers. For an even size it is minus
/// twice the logarithm of a product of size / 2 uniform numbers, which takes a tenth of the time of drawing
/// the vector.
double chi_squared(const CounterStream& stream, std::size_t j, std::size_t size) {
  constexpr std::size_t kAtOnce = 16;  // of 2^-53 at least: their product is no denormal number
  static_assert(kLeastSize % (2 * kAtOnce) == 0);
  double sum = 0.0;
  for (std::size_t first = j * size / 2; first < (j + 1) * size / 2; first += kAtOnce) {
    double product = 1.0;
    for (std::size_t i = first; i < first + kAtOnce; ++i) product *= stream.uniform(i);
    sum -= 2.0 * portable_log(product);
  }
  return sum;
}

std::size_t padded(std::size_t n) { return (n + kInterleaved - 1) / kInterleaved * kInterleaved; }

struct StructuredWorkspace final : Workspace {
  StructuredWorkspace(std::size_t size, std::size_t row)
      : records(size * kInterleaved), work(size * kInterleaved), features(kTile * row) {}
  AlignedBuffer<float> records, work;    // of kInterleaved records, number by number
  AlignedBuffer<std::int32_t> features;  // tile x row
};

class StructuredRffBlock final : public Block {
 public:
  StructuredRffBlock(const StructuredRffMap& map, const Lattice& lattice)
      : dims_(map.dims()),
        frequency_count_(map.features() / 2),
        frequencies_(map.frequencies()),
        half_(padded(frequency_count_)),
        lattice_(lattice),
        scale_(rff_lattice_scale(map.features(), lattice)),
        kernels_(best_kernels()) {
    // In quarter turns, with the three 1 / sqrt(d') that the transforms leave out.
    const auto size = static_cast<double>(frequencies_.size);
    for (const double length : frequencies_.lengths)
      factors_.push_back(static_cast<float>(length * (2.0 / std::numbers::pi) / (size * std::sqrt(size))));
    factors_.resize(padded(factors_.size()));
  }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return 2 * frequency_count_; }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<StructuredWorkspace>(frequencies_.size, 2 * half_);
  }
  Guard guard() const override { return Guard::of(lattice_); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& scratch = dynamic_cast<StructuredWorkspace&>(workspace);
    for (std::size_t first = 0; first < n; first += kInterleaved)
      transform(x + first * dims_, std::min(kInterleaved, n - first), scratch,
                scratch.features.data() + first * 2 * half_);
    sums.add({scratch.features.data(), 2 * half_, frequency_count_, 2, half_}, std::span(y, n), kernels_);
  }

 private:
  /// @param n  of kInterleaved places; the others stay empty
  void transform(const float* x, std::size_t n, StructuredWorkspace& s, std::int32_t* features) const {
    const std::size_t size = frequencies_.size;
    float* const records = s.records.data();
    std::fill_n(records, size * kInterleaved, 0.0f);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < dims_; ++c) records[c * kInterleaved + r] = x[r * dims_ + c];
    }
    for (std::size_t b = 0; b < frequencies_.blocks; ++b) {
      std::copy_n(records, size * kInterleaved, s.work.data());
      for (const std::vector<float>& signs : frequencies_.signs)
        kernels_.hadamard(s.work.data(), size, signs.data() + b * size);
      const std::size_t count = std::min(size, half_ - b * size);
      kernels_.phase_features(s.work.data(), factors_.data() + b * size, count, scale_, features + b * size,
                              2 * half_, half_);
    }
  }

  std::size_t dims_, frequency_count_;
  StructuredFrequencies frequencies_;
  std::size_t half_;  ///< cosines stored per record: frequency_count_, filled up to whole vectors
  Lattice lattice_;
  float scale_;
  const Kernels& kernels_;
  std::vector<float> factors_;  ///< of each frequency, filled up with zeros
};

class StructuredRff final : public StructuredRffMap {
 public:
  std::string_view kind() const override { return "structured-rff"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<StructuredRff>(*this); }

  void declare(settings::Keys& keys) override {
    keys.count("count", features_, 0, static_cast<std::int64_t>(kMostFeatures), "D, even: random features");
    keys.number("length_scale", length_scale_, kLengths, "l, public, in units of records scaled to [0, 1]");
    keys.count("seed", seed_, 0, INT64_MAX, "public seed of the frequencies");
  }

  void resolve(const schema::Schema& schema) override {
    dims_ = schema.dims();
    if (features_ < 2 || features_ > kMostFeatures || features_ % 2 != 0)
      throw ConfigError(
          fmt::format("count is {}: it is required, and must be even, a cosine and a sine for each frequency",
                      features_));
    if (!kLengths.has(length_scale_))
      throw ConfigError(
          fmt::format("the length-scale is {}, not {}", exact_text(length_scale_), kLengths.text()));
    if (dims_ < 1 || dims_ > kMostDims)
      throw ConfigError(fmt::format("a record has {} numbers, not 1 to {}", dims_, kMostDims));
  }

  nlohmann::json to_json() const override {
    return {{"dims", dims_}, {"features", features_}, {"length_scale", length_scale_}, {"seed", seed_}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"dims", "features", "length_scale", "seed"});
    dims_ = f.integer("dims", 1, kMostDims);
    features_ = f.integer("features", 2, kMostFeatures);
    length_scale_ = f.number("length_scale");
    seed_ = f.integer("seed", 0, UINT64_MAX);
  }

  StructuredFrequencies frequencies() const override {
    StructuredFrequencies out;
    out.size = size();
    const std::size_t count = features_ / 2;
    out.blocks = (count + out.size - 1) / out.size;
    const CounterStream signs(seed_, Stream::kFrequencies, kSigns), chi(seed_, Stream::kFrequencies, kChi);
    std::uint64_t drawn = 0;
    for (std::vector<float>& of : out.signs) {
      for (std::size_t i = 0; i < out.blocks * out.size; ++i)
        of.push_back(signs.below(drawn++, 2) == 0 ? 1.0f : -1.0f);
    }
    for (std::size_t j = 0; j < count; ++j)
      out.lengths.push_back(std::sqrt(chi_squared(chi, j, out.size)) / length_scale_);
    return out;
  }

  double length_scale() const override { return length_scale_; }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return features_; }
  BlockBound bound() const override {
    return {
        .norm = 1.0,
        .nonnegative_kernel = false,
        .theorem =
            "Random Fourier features sqrt(2/D) [cos; sin] have norm 1 because cos^2 + sin^2 = 1, whatever "
            "the frequencies (Rahimi & Recht 2007; structured: Yu et al. 2016); enforced per record in "
            "integers: squared norm at most 2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    return {1, false, {{static_cast<long double>(features_), std::pow(2.0L, lattice.bits)}}};
  }

  MapCost cost() const override {
    const double size_of = static_cast<double>(size()), rows = 0.5 * static_cast<double>(features_);
    const auto blocks = static_cast<std::uint64_t>(std::ceil(rows / size_of));
    return {3.0 * static_cast<double>(blocks) * size_of * std::log2(size_of),
            12 * blocks * size() + 12 * (features_ / 2),
            8 * kInterleaved * size() + 4 * kTile * (features_ + 2 * kInterleaved)};
  }
  double numbers_in_map() const override {
    return 0.5 * static_cast<double>(features_) * static_cast<double>(size());
  }
  std::string hash() const override {
    const StructuredFrequencies all = frequencies();
    Sha256 hash;
    for (const std::vector<float>& signs : all.signs)
      hash.update(PublicBytes(std::as_bytes(std::span(signs))));
    // Rounded, so that a last digit in which two maths libraries differ does not make another map.
    const std::vector<float> lengths(all.lengths.begin(), all.lengths.end());
    hash.update(PublicBytes(std::as_bytes(std::span(lengths))));
    hash.update(PublicBytes(fmt::format("{}", dims_)));
    return to_hex(hash.digest());
  }
  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    auto small = std::make_unique<StructuredRff>(*this);
    small->features_ = std::min<std::uint64_t>(features_, features);
    return small;
  }
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return std::make_unique<StructuredRffBlock>(*this, lattice);
  }

 private:
  std::size_t size() const { return std::max(kLeastSize, std::bit_ceil(dims_)); }

  std::uint64_t features_ = 0;  ///< D
  double length_scale_ = 1.0;   ///< l
  std::uint64_t seed_ = 1;
  std::size_t dims_ = 0;
};

}  // namespace

MapKind structured_rff_map() {
  return {"structured-rff",
          "random Fourier features of structured frequencies: those of rff, faster for long records",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<StructuredRff>()); }};
}

}  // namespace muffle::features
