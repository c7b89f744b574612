// u = W (T x - T m0): the lowest k x k coefficients of an orthonormal DCT-II, channel by channel
// (docs/explanation/moments.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>

#include "kernels.hpp"
#include "lift_settings.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

/// Signal at the k-th frequency ~ k^(-1 / kNoisePower); it equals kNoiseOfDefault at the default side.
constexpr double kNoiseOfDefault = 9e-4, kNoisePower = 3.0 / 16;
/// The least side that is chosen, unless another is written.
constexpr std::size_t kLeastSide = 5;
/// Where noise decides, images smaller than 28 x 28 may have as many as those: a frequency says as much.
constexpr std::size_t kLargeEnough = 14;
/// The least side is taken that lets so much through of what the best one does. How frequencies fall is a
/// guess: of strokes, whose high frequencies tell less than those of things, a larger side loses much, and of
/// things a smaller one loses nothing (docs/lab/2026-11-26-small-data.md, "Strokes").
constexpr double kNearlyBest = 0.96;
/// c0 is chosen among the default over 2^(i / 4), i = 0 .. kOffsets - 1.
constexpr int kOffsets = 5;
/// The weights' exponent is chosen among kMostExponent - i / 4, i = 0 .. kExponents - 1.
constexpr double kMostExponent = 0.5;
constexpr int kExponents = 3;

// Public guesses, for separation() (docs/explanation/moments.md, "How many coefficients").

/// Of the coefficients' mean squares, the part that means have, and the part that tells classes apart.
constexpr double kOfMeans = 0.5, kBetween = 0.4;
/// What the estimators leave of the noise in a variance, per root of the number of coefficients.
constexpr double kLeftInVariance = 0.05;
/// What is lost where c0 is small beside ||u||: weights 1 / (c0^2 + ||u||^2) are undone for normal laws only.
constexpr double kDistortion = 0.1;

double rounded_to_float(double v) { return static_cast<float>(v); }
double real(std::size_t n) { return static_cast<double>(n); }

/// Half of an image's shorter side, 14 at 28 x 28; at most some 300 coefficients in all, because each adds
/// noise. @param least  as many at least, if the image has them
std::size_t default_side(const std::vector<std::size_t>& shape, std::size_t least = 1) {
  const std::size_t shorter = std::min(shape[1], shape[2]), half = (shorter + 1) / 2;
  const auto most = static_cast<std::size_t>(std::sqrt(300.0 / real(shape[0])));
  return std::max<std::size_t>(1, std::min({std::max(half, least), shorter, most}));
}

/// The k lowest rows of the orthonormal DCT-II of length n: k x n row-major.
std::vector<double> dct_rows(std::size_t k, std::size_t n) {
  std::vector<double> rows(k * n);
  const double length = real(n);
  for (std::size_t a = 0; a < k; ++a) {
    const double scale = std::sqrt((a == 0 ? 1.0 : 2.0) / length);
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = std::numbers::pi * real(a) * (2.0 * real(i) + 1.0) / (2.0 * length);
      rows[a * n + i] = rounded_to_float(scale * std::cos(angle));
    }
  }
  return rows;
}

class ImageLift final : public Lift {
 public:
  std::string_view kind() const override { return "image"; }
  std::unique_ptr<Lift> clone() const override { return std::make_unique<ImageLift>(*this); }

  void declare(settings::Keys& keys) override {
    keys.count(
        "coefficients", side_, 0, 1 << 13,
        "k, cosine coefficients per side and channel; where m is public, at most: fewer where more cost "
        "more than they tell; 0: by the records' size and the noise");
    keys.count("fewest_coefficients", fewest_, 0, 1 << 13,
               "no fewer are used, however much noise there is; 0: as few as are best, from 5 on");
    keys.optional_number("weight_exponent", exponent_,
                         "coefficients are scaled by (1 + |frequency|)^exponent; \"none\": by the noise",
                         settings::Range{-4, 4});
    keys.number("blob_height", height_, {0, 1}, "height of the public blob that is subtracted");
    keys.number("blob_radius", radius_, {0, 1e6}, "its radius in pixels; 0: a quarter of the shorter side");
  }

  bool is_natural_for(const schema::Schema& schema) const override { return schema.is_image(); }

  // The side, c0 and the weights' exponent that let most of what tells classes apart through the noise, by a
  // public guess. The side is at most what is written, and a power law whose constants give images of 28 x 28
  // a side of 14 at 9e-4 and 20 at 1.2e-4, which served FashionMNIST best (docs/explanation/moments.md, "How
  // many coefficients"). So one that is written too large for the noise costs nothing.
  double choose_sizes(const schema::Schema& schema, double noise, double offset) override {
    const auto& shape = schema.shape;
    if (shape.size() != 3 || std::find(shape.begin(), shape.end(), 0u) != shape.end() || !(noise > 0))
      return offset;
    const std::size_t shorter = std::min(shape[1], shape[2]), allowed = side_ == 0 ? shorter : side_;
    if (allowed > shorter || fewest_ > allowed) return offset;  // resolve() says so
    const double growth = std::fmax(1.0, std::pow(kNoiseOfDefault / noise, kNoisePower));
    const auto law =
        static_cast<std::size_t>(std::fmin(real(default_side(shape, kLargeEnough)) * growth, real(shorter)));
    const std::size_t least = std::min(fewest_ == 0 ? std::min(kLeastSide, law) : fewest_, allowed);
    const std::size_t most = std::max(std::min(law, allowed), least);
    std::vector<double> offsets{offset};
    if (offset == 0) {
      const double usual = default_offset_of(shape[0] * shape[1] * shape[2]);
      offsets.clear();
      for (int i = 0; i < kOffsets; ++i) offsets.push_back(usual * std::exp2(-0.25 * i));
    }
    const Guess guess = guess_of(shape);
    Choice best{most, offsets[0], exponent_.value_or(kMostExponent), 0};
    const auto consider = [&](std::size_t side, double exponent, Choice& choice) {
      for (const double c0 : offsets) {
        const double through = separation(shape, guess, side, noise, c0, exponent);
        if (through > choice.through) choice = {side, c0, exponent, through};
      }
    };
    Choice open = best;
    for (std::size_t k = 1; k <= law; ++k) consider(k, best.exponent, open);
    for (std::size_t k = least; k <= most; ++k) consider(k, best.exponent, best);
    for (std::size_t k = least; k < best.side; ++k) {
      Choice smaller;
      consider(k, best.exponent, smaller);
      if (smaller.through >= kNearlyBest * best.through) best = smaller;
    }
    // Where the fewest, or fewer still, would be best, high frequencies take less of a record's length.
    if (!exponent_ && open.side <= least && open.side < std::max(law, least)) {
      for (int i = 1; i < kExponents; ++i) consider(least, kMostExponent - 0.25 * i, best);
    }
    written_ = side_;
    side_ = best.side;
    exponent_ = best.exponent;
    return best.offset;
  }

  std::string outlook(double noise, double offset) const override {
    const std::vector<std::size_t> shape{affine_.channels, affine_.height, affine_.width};
    // Beyond some hundred frequencies next to nothing is added.
    const std::size_t most = std::min<std::size_t>(256, std::max(affine_.height, affine_.width));
    const double c0 = offset > 0 ? offset : default_offset();
    const Guess guess = guess_of(shape);
    const double left = separation(shape, guess, side_, noise, c0, *exponent_) /
                        separation(shape, guess, most, 0.0, c0, *exponent_);
    const std::string fewer =
        side_ < written_
            ? fmt::format(" (fewer than the {} written: more cost more than they tell),", written_)
            : "";
    return fmt::format(
        "with {} x {} coefficients{} noise leaves about {:.2g} % of what tells classes apart (a public "
        "guess: below 1 % samples are little better than chance, at 10 % rough, from 30 % on good)",
        side_, side_, fewer, 100 * left);
  }

  void resolve(const schema::Schema& schema) override {
    LiftProblems problems;
    problems.unless(schema.is_image(), "the records' shape is not [channels, height, width]");
    dims_ = problems.dims_of(schema);
    problems.done();
    const std::size_t height = schema.shape[1], width = schema.shape[2], shorter = std::min(height, width);
    affine_.channels = schema.shape[0];
    affine_.height = height;
    affine_.width = width;
    if (side_ == 0) side_ = std::max(default_side(schema.shape), fewest_);
    exponent_ = exponent_.value_or(kMostExponent);
    if (radius_ == 0.0) radius_ = 7.0 * static_cast<double>(shorter) / 28.0;
    problems.unless(
        side_ <= shorter,
        fmt::format("{} coefficients a side are more than an image of {} x {} has", side_, height, width));
    problems.unless(fewest_ <= side_,
                    fmt::format("coefficients = {} is less than fewest_coefficients = {}", side_, fewest_));
    problems.within("the weights' exponent", *exponent_, -4, 4);
    problems.within("the blob's height", height_, 0, 1);
    problems.within("the blob's radius", radius_, 1e-3, 1e6);
    problems.coefficients(coefficients());
    problems.done();
  }

  void build() override {
    const std::size_t k = side_, width = affine_.width;
    affine_.side = k;
    affine_.origin.clear();
    affine_.weights.clear();
    affine_.pitch.clear();
    for (std::size_t c = 0; c < affine_.channels; ++c) {
      for (std::size_t r = 0; r < affine_.height; ++r) {
        for (std::size_t s = 0; s < width; ++s) {
          const double y = real(r) - 0.5 * (real(affine_.height) - 1), x = real(s) - 0.5 * (real(width) - 1);
          const double fall = std::exp(-(x * x + y * y) / (2 * radius_ * radius_));
          affine_.origin.push_back(rounded_to_float(height_ * fall));
        }
      }
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) {
          const double frequency = std::sqrt(static_cast<double>(a * a + b * b));
          affine_.pitch.push_back(1.0 + frequency);
          affine_.weights.push_back(rounded_to_float(std::pow(1.0 + frequency, *exponent_)));
        }
      }
    }
    affine_.rows = dct_rows(k, affine_.height);
    affine_.columns = dct_rows(k, width);
    const std::size_t padded = padded_side();
    columns_transposed_.assign(width * padded, 0.0);
    for (std::size_t b = 0; b < k; ++b) {
      for (std::size_t s = 0; s < width; ++s)
        columns_transposed_[s * padded + b] = affine_.columns[b * width + s];
    }
  }

  nlohmann::json to_json() const override {
    return {{"coefficients", side_},
            {"weight_exponent", *exponent_},
            {"blob_height", height_},
            {"blob_radius", radius_}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"coefficients", "weight_exponent", "blob_height", "blob_radius"});
    side_ = f.integer("coefficients", 1, kMaxOrder);
    exponent_ = f.number("weight_exponent");
    height_ = f.number("blob_height");
    radius_ = f.number("blob_radius");
  }

  std::size_t dims() const override { return dims_; }
  std::size_t coefficients() const override { return affine_.channels * side_ * side_; }
  long double plain_coefficients() const override {
    const auto k = static_cast<long double>(side_);
    return static_cast<long double>(affine_.channels) * k * k;
  }
  double default_offset() const override { return default_offset_of(dims_); }

  void forward(const float* x, double* u) const override { forward_all(std::span(&x, 1), u, coefficients()); }
  // R (x - m0) C^t as two matrix products, whose sums run over pixels in order whatever is side by side.
  void forward_all(std::span<const float* const> records, double* u, std::size_t stride) const override {
    const Kernels& kernels = best_kernels();
    const std::size_t height = affine_.height, width = affine_.width, k = side_, padded = padded_side();
    const std::size_t rows = affine_.channels * height;
    const auto centred = std::make_unique_for_overwrite<double[]>(records.size() * rows * width);
    const auto half = std::make_unique_for_overwrite<double[]>(records.size() * rows * padded);
    const auto whole = std::make_unique_for_overwrite<double[]>(k * padded);
    for (std::size_t i = 0; i < records.size(); ++i)
      kernels.subtract(records[i], affine_.origin.data(), dims_, centred.get() + i * dims_);
    kernels.product(centred.get(), records.size() * rows, width, columns_transposed_.data(), padded,
                    half.get());
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (std::size_t c = 0; c < affine_.channels; ++c) {
        kernels.product(affine_.rows.data(), k, height, half.get() + (i * rows + c * height) * padded, padded,
                        whole.get());
        double* const out = u + i * stride + c * k * k;
        for (std::size_t a = 0; a < k; ++a) std::copy_n(whole.get() + a * padded, k, out + a * k);
      }
      for (std::size_t j = 0; j < coefficients(); ++j) u[i * stride + j] *= affine_.weights[j];
    }
  }

  const AffineLift* affine() const override { return &affine_; }
  bool is_nearly_normal() const override { return true; }
  double flops_per_record() const override {
    return 2.0 * real(dims_) * real(side_) + 2.0 * real(affine_.height) * real(coefficients());
  }
  std::vector<double> numbers() const override {
    return joined({affine_.origin, affine_.weights, affine_.rows, affine_.columns});
  }

 private:
  std::size_t padded_side() const {
    const std::size_t lanes = best_kernels().lanes;
    return (side_ + lanes - 1) / lanes * lanes;
  }

  /// Mean squares at frequency 0, of all coefficients together: of records, and of what tells classes apart.
  struct Guess {
    double law, between;
  };
  struct Choice {
    std::size_t side = 0;
    double offset = 0, exponent = 0;
    double through = 0;  ///< separation()
  };
  static Guess guess_of(const std::vector<std::size_t>& shape) {
    const double all = AffineLift::kMeanSquare * real(shape[0]) * real(shape[1]) * real(shape[2]);
    return {all / law_over_frequencies(shape[1], shape[2], AffineLift::kExponent),
            kBetween * all / law_over_frequencies(shape[1], shape[2], AffineLift::kExponent + 1)};
  }

  /// How far noise lets classes be told apart by k x k coefficients: the sum over them of what is left of
  /// (distance of a class's mean to the centre)^2 over the variance, with what noise leaves in that.
  /// Distances fall faster than the rest by one power of the pitch. @param noise  of a number in a class's
  /// mean z z^T
  static double separation(const std::vector<std::size_t>& shape, const Guess& guess, std::size_t k,
                           double noise, double c0, double exponent) {
    const double channels = real(shape[0]), law = guess.law;
    std::vector<double> pitches;
    double energy = 0;
    for (std::size_t a = 0; a < std::min(k, shape[1]); ++a) {
      for (std::size_t b = 0; b < std::min(k, shape[2]); ++b) {
        pitches.push_back(1 + std::hypot(real(a), real(b)));
        energy += law * std::pow(pitches.back(), 2 * exponent - AffineLift::kExponent);
      }
    }
    // Channels share a frequency's mean square; each has its own part of the sum.
    const double squares = c0 * c0 + energy, white = noise * squares / std::numbers::sqrt2;
    const double of_row = channels * white * white / (c0 * c0);
    double known = 0;  // of |m|^2, by the rows: blocks tell of m what lies along it
    for (const double pitch : pitches) {
      const double mean = kOfMeans * law * std::pow(pitch, 2 * exponent - AffineLift::kExponent);
      known += mean / (mean + of_row) * mean;
    }
    const double of_mean = channels * white * white / (c0 * c0 + known);
    const double of_variance = kLeftInVariance * white * real(k) * std::sqrt(channels);
    double sum = 0;
    for (const double pitch : pitches) {
      const double apart = guess.between * std::pow(pitch, 2 * exponent - AffineLift::kExponent - 1);
      const double variance = law * std::pow(pitch, 2 * exponent - AffineLift::kExponent);
      sum += apart / (apart + of_mean) * apart / (variance + channels * of_variance);
    }
    const double share = energy / squares;
    return (1 - kDistortion * share * share) * sum;
  }
  std::size_t side_ = 0;     ///< k, until choose_sizes() the most that it may be; 0: left open
  std::size_t fewest_ = 0;   ///< of k, for what is left open alone: no part of the map
  std::size_t written_ = 0;  ///< side_ before choose_sizes(), for outlook() alone
  /// W = (1 + sqrt(a^2 + b^2))^exponent for frequencies a, b = 0 .. k-1; set after resolve()
  std::optional<double> exponent_;
  double height_ = 0.5;  ///< m0 = height exp(-r^2 / (2 radius^2)), r from the image's centre
  double radius_ = 0.0;  ///< 0: 7 at 28 x 28, in proportion to the shorter side
  std::size_t dims_ = 0;
  AffineLift affine_;
  std::vector<double> columns_transposed_;  ///< w x padded_side(), 0 beyond k
};

}  // namespace

LiftKind image_lift() {
  return {"image", "the lowest cosine coefficients of images",
          [] { return std::unique_ptr<Lift>(std::make_unique<ImageLift>()); }};
}

}  // namespace muffle::features
