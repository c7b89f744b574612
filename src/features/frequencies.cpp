#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "aligned_buffer.hpp"
#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {

namespace {

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

/// Rows of a Gaussian matrix made orthonormal by modified Gram-Schmidt, everything twice ("twice is enough":
/// Kahan, Parlett). In panels of rows, so that an earlier row is read once per panel.
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
    for (std::size_t c = 0; c < dims; ++c) {
      omega[(first + i) * dims + c] = static_cast<float>(matrix.data()[i * stride + c] * length);
    }
  }
}

}  // namespace

std::vector<float> rff_frequencies(const RffSpec& spec, const Kernels& kernels) {
  check(spec);
  const std::size_t count = spec.features / 2;
  const double to_turns = spec.length_scale * (2.0 * std::numbers::pi);
  std::vector<float> omega(count * spec.dims);
  if (spec.kind == FrequencyKind::kOrthogonal) {
    for (std::size_t first = 0; first < count; first += spec.dims) {
      orthogonal_block(spec, first, std::min(spec.dims, count - first), to_turns, omega, kernels);
    }
  } else {
    const CounterStream directions(spec.seed, Stream::kFrequencies, kDirections);
    for (std::size_t i = 0; i < omega.size(); ++i)
      omega[i] = static_cast<float>(directions.normal(i) / to_turns);
  }
  return omega;
}

}  // namespace muffle::features
