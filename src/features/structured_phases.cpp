#include <algorithm>
#include <cmath>
#include <numbers>

#include "aligned_buffer.hpp"
#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/structured_rff.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kTogether = 16;  ///< frequencies whose numbers of all records lie near each other

}  // namespace

static_assert(StructuredPhases::kRecords == kInterleaved);

StructuredPhases::StructuredPhases(StructuredFrequencies frequencies, std::size_t dims)
    : frequencies_(std::move(frequencies)), dims_(dims), ones_(frequencies_.size, 1.0f) {
  require(dims <= frequencies_.size, "records are longer than their structured frequencies: a bug in muffle");
  // With the three 1 / sqrt(d') that the transforms leave out.
  const auto size = static_cast<double>(frequencies_.size);
  for (const double length : frequencies_.lengths)
    factors_.push_back(static_cast<float>(length / (2.0 * std::numbers::pi * size * std::sqrt(size))));
}

void StructuredPhases::phases(const float* x, std::size_t n, float* phases) const {
  require(n <= kRecords, "too many records at a time: a bug in muffle");
  const std::size_t size = frequencies_.size, count = factors_.size();
  const Kernels& kernels = best_kernels();
  AlignedBuffer<float> records(size * kRecords), work(size * kRecords);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < dims_; ++c) records.data()[c * kRecords + r] = x[r * dims_ + c];
  }
  for (std::size_t b = 0; b < frequencies_.blocks; ++b) {
    std::copy_n(records.data(), size * kRecords, work.data());
    for (const std::vector<float>& signs : frequencies_.signs)
      kernels.hadamard(work.data(), size, signs.data() + b * size);
    const std::size_t end = std::min((b + 1) * size, count);
    for (std::size_t first = b * size; first < end; first += kTogether) {
      const std::size_t last = std::min(first + kTogether, end);
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t j = first; j < last; ++j)
          phases[r * count + j] = work.data()[(j - b * size) * kRecords + r] * factors_[j];
      }
    }
  }
}

void StructuredPhases::gradients(const float* of_phases, std::size_t n, float* x) const {
  require(n <= kRecords, "too many records at a time: a bug in muffle");
  const std::size_t size = frequencies_.size, count = factors_.size();
  const Kernels& kernels = best_kernels();
  AlignedBuffer<float> total(size * kRecords), work(size * kRecords);
  for (std::size_t b = 0; b < frequencies_.blocks; ++b) {
    std::fill_n(work.data(), size * kRecords, 0.0f);
    const std::size_t end = std::min((b + 1) * size, count);
    for (std::size_t first = b * size; first < end; first += kTogether) {
      const std::size_t last = std::min(first + kTogether, end);
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t j = first; j < last; ++j)
          work.data()[(j - b * size) * kRecords + r] = of_phases[r * count + j] * factors_[j];
      }
    }
    // The transposed product: H is symmetric, so D3 H D2 H D1 H.
    const std::array<std::vector<float>, 3>& signs = frequencies_.signs;
    kernels.hadamard(work.data(), size, ones_.data());
    kernels.hadamard(work.data(), size, signs[2].data() + b * size);
    kernels.hadamard(work.data(), size, signs[1].data() + b * size);
    for (std::size_t c = 0; c < dims_; ++c) {
      const float sign = signs[0][b * size + c];
      for (std::size_t r = 0; r < kRecords; ++r)
        total.data()[c * kRecords + r] += sign * work.data()[c * kRecords + r];
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < dims_; ++c) x[r * dims_ + c] = total.data()[c * kRecords + r];
  }
}

}  // namespace muffle::features
