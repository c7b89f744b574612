#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/features/moments.hpp"

namespace muffle::features {
namespace {

/// Bounds on what a release may hold, far beyond what noise leaves readable: D stays below 2^25 a class.
constexpr std::size_t kMaxOrder = std::size_t{1} << 13;
constexpr std::size_t kMaxDims = std::size_t{1} << 24;
constexpr std::size_t kMaxFrequencies = std::size_t{1} << 28;

/// 14 at 28 x 28; at most some 300 coefficients in all, because each adds noise.
std::size_t default_side(const MomentsSpec& spec) {
  const std::size_t half = (std::min(spec.shape[1], spec.shape[2]) + 1) / 2;
  const auto most = static_cast<std::size_t>(std::sqrt(300.0 / static_cast<double>(spec.shape[0])));
  return std::max<std::size_t>(1, std::min(half, most));
}

/// Signal at the k-th frequency ~ k^(-1 / kNoisePower); it equals kNoiseOfDefault at the default side.
constexpr double kNoiseOfDefault = 9e-4, kNoisePower = 3.0 / 16;

// Written so that NaN fails.
bool within(double v, double low, double high) { return v >= low && v <= high; }

}  // namespace

std::size_t side_for_noise(const MomentsSpec& spec, double noise) {
  if (spec.kind != MomentLiftKind::kImage || spec.shape.size() != 3 || !(noise > 0)) return 0;
  const auto least = static_cast<double>(default_side(spec));
  const double side = least * std::fmax(1.0, std::pow(kNoiseOfDefault / noise, kNoisePower));
  const auto most = static_cast<double>(std::min(spec.shape[1], spec.shape[2]));
  return static_cast<std::size_t>(std::fmin(side, most));
}

MomentsSpec resolved(MomentsSpec spec) {
  std::string problems;
  const auto unless = [&](bool good, const std::string& problem) {
    if (!good) problems += "; " + problem;
  };
  const bool image = spec.kind == MomentLiftKind::kImage;
  const bool random = spec.kind == MomentLiftKind::kFourier, hermite = spec.kind == MomentLiftKind::kHermite;
  unless(spec.shape.size() == (image ? 3 : 1) || ((random || hermite) && spec.shape.size() == 3),
         "the records' shape is neither [channels, height, width] nor [columns], or an image's moments are "
         "wanted of plain records (or the reverse)");
  std::size_t dims = 1;
  for (const std::size_t n : spec.shape) dims = n == 0 || n > kMaxDims / dims ? kMaxDims + 1 : dims * n;
  unless(dims <= kMaxDims, fmt::format("a record must have 1 to {} numbers", kMaxDims));
  if (!problems.empty()) throw ConfigError("second moments cannot be made: " + problems.substr(2) + ".");

  const double size = std::sqrt(static_cast<double>(dims) / 784.0);
  if (spec.coefficients == 0)
    spec.coefficients = image ? default_side(spec) : random ? 128 : hermite ? 20 : 0;
  if (spec.offset == 0.0) spec.offset = random || hermite ? 1.0 : 8.0 * size;
  if (image && spec.blob_radius == 0.0)
    spec.blob_radius = 7.0 * static_cast<double>(std::min(spec.shape[1], spec.shape[2])) / 28.0;

  const std::size_t k = spec.coefficients;
  if (image) {
    unless(k <= std::min(spec.shape[1], spec.shape[2]),
           fmt::format("{} coefficients a side are more than an image of {} x {} has", k, spec.shape[1],
                       spec.shape[2]));
    unless(within(spec.weight_exponent, -4, 4),
           fmt::format("the weights' exponent is {}, not a number from -4 to 4",
                       exact_text(spec.weight_exponent)));
    unless(within(spec.blob_height, 0, 1),
           fmt::format("the blob's height is {}, not a number from 0 to 1", exact_text(spec.blob_height)));
    unless(within(spec.blob_radius, 1e-3, 1e6),
           fmt::format("the blob's radius is {}, not a number of pixels", exact_text(spec.blob_radius)));
  }
  unless(spec.kind != MomentLiftKind::kVector || k == 0,
         "plain vectors are taken as they are: leave the number of coefficients at 0, or choose a lift");
  unless(!random || (k % 2 == 0 && k <= kMaxOrder && k * dims <= kMaxFrequencies),
         fmt::format("{} random features of {} numbers: an even number, and at most {} frequencies", k, dims,
                     kMaxFrequencies));
  unless(!(random || hermite) || within(spec.length_scale, 1e-6, 1e6),
         fmt::format("the length-scale is {}, not a number from 1e-6 to 1e6", exact_text(spec.length_scale)));
  unless(within(spec.offset, 1e-6, 1e6),
         fmt::format("the offset is {}, not a number from 1e-6 to 1e6", exact_text(spec.offset)));
  unless(spec.bits >= 8 && spec.bits <= 20, fmt::format("the bits are {}, not 8 to 20", spec.bits));
  unless(k <= kMaxOrder && moments_order(spec) <= kMaxOrder,
         fmt::format("more than {} numbers would be squared: use fewer coefficients", kMaxOrder - 1));
  // z must keep a length of its own beside the rounding.
  if (problems.empty())
    unless(moments_scale(spec) >= std::ldexp(0.5, spec.bits),
           fmt::format("{} bits are too few for {} numbers: use more", spec.bits, moments_order(spec)));
  if (!problems.empty()) throw ConfigError("second moments cannot be made: " + problems.substr(2) + ".");
  return spec;
}

std::size_t moments_order(const MomentsSpec& spec) {
  std::size_t dims = 1;
  for (const std::size_t n : spec.shape) dims *= n;
  const std::size_t k = spec.coefficients;
  switch (spec.kind) {
    case MomentLiftKind::kImage:
      return 1 + spec.shape[0] * k * k;
    case MomentLiftKind::kVector:
      return 1 + dims;
    case MomentLiftKind::kFourier:
      return 1 + k;
    case MomentLiftKind::kHermite:
      break;
  }
  return 1 + dims * k;
}

double moments_scale(const MomentsSpec& spec) {
  return std::ldexp(1.0, spec.bits) - 0.5 * std::sqrt(static_cast<double>(moments_order(spec))) - 1.0;
}

BlockBound moments_bound() {
  return {.norm = 1.0,
          .nonnegative_kernel = true,
          .theorem =
              "Second moments z z^T of an integer vector z have norm ||z||^2 / 2^(2b) <= 1 and the kernel "
              "(z . z')^2 / 2^(4b) >= 0, a square; enforced per record in integers: squared norm of z at "
              "most 2^(2b)."};
}

std::vector<CoordinateRun> moments_coordinates(const MomentsSpec& spec) {
  const std::uint64_t q = moments_order(spec);
  const double unit = std::ldexp(1.0, 2 * spec.bits);
  // 2^(2b) / sqrt(2) = 2^(2b - 1) sqrt(2); this double is above sqrt(2).
  constexpr double kSqrt2Up = 0x1.6a09e667f3bcdp+0;
  std::vector<CoordinateRun> runs{{q, unit}};
  if (q > 1) runs.push_back({q * (q - 1) / 2, 0.5 * unit * kSqrt2Up});
  return runs;
}

void require_no_overflow(std::uint64_t records, const MomentsSpec& spec) {
  if (spec.bits < 8 || spec.bits > 20)
    throw ConfigError(fmt::format("the moments' bits are {}; they must be 8 to 20", spec.bits));
  if (records >= std::uint64_t{1} << (62 - 2 * spec.bits)) {
    throw ConfigError(
        fmt::format("the second moments of {} records, held with {} bits, could overflow a 64-bit sum: the "
                    "number of records must be below 2^{}; lower moments.bits or split the data set",
                    records, spec.bits, 62 - 2 * spec.bits));
  }
}

}  // namespace muffle::features
