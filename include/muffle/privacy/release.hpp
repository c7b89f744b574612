#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "muffle/privacy/entropy.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::privacy {

/// What the user asked for: (epsilon, delta) or a noise multiplier, never both.
struct PrivacySpec {
  std::optional<double> epsilon;
  double delta = 1e-5;
  std::optional<double> noise_multiplier;
  Adjacency adjacency = Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 0;  ///< required: 1 must be written, not assumed
};

/// The noise that a release will get; public, computed before any private byte is read.
struct NoisePlan {
  double epsilon = 0.0, delta = 0.0;
  double noise_multiplier = 0.0;  ///< sigma / sensitivity, rounded up
  Sensitivity sensitivity;
  SensitivityInput sensitivity_input;  ///< what the bound was derived from: readers derive it again
  double sigma = 0.0;                  ///< noise_multiplier x sensitivity, rounded up, in feature units
  std::uint64_t sigma_lattice = 0;     ///< sigma 2^k, rounded up: what is drawn
  int lattice_bits = 24;
};

/// Every rounding goes up: noise multiplier, sensitivity, sigma and sigma_lattice are never below their exact
/// values.
/// @param sensitivity  its adjacency and records per person must be the spec's.
/// @throws ConfigError  both or neither of epsilon and noise multiplier, values outside the accountant's
/// domain, NaN,
///                      records per person missing, sigma beyond 2^50 lattice units: all problems in one
///                      message.
NoisePlan plan_noise(const PrivacySpec& spec, const SensitivityInput& sensitivity, int lattice_bits);

/// The exact lattice sums over all ranks. Private. Move-only; has no way to be printed, compared or saved:
/// the only thing one can do with it is to publish it, once.
class RawSum {
 public:
  explicit RawSum(std::vector<std::uint64_t> sums) : sums_(std::move(sums)) {}
  RawSum(RawSum&&) noexcept = default;
  /// Wipes what it held before.
  RawSum& operator=(RawSum&& other) noexcept;
  RawSum(const RawSum&) = delete;
  RawSum& operator=(const RawSum&) = delete;
  /// Wipes the memory.
  ~RawSum();

 private:
  friend class NoiseVector;
  std::vector<std::uint64_t> sums_;
};

/// Noisy lattice sums: public for ever after.
struct NoisySum {
  std::vector<std::int64_t> values;  ///< lattice units
  bool is_private = true;            ///< false: seeded test noise; the artifact says NOT PRIVATE
};

/// The noise of one release, drawn before the sum arrives and spent on it. Move-only; its memory is wiped.
class NoiseVector {
 public:
  /// @param n  length of the released vector, at least 1. @throws InvariantError.
  NoiseVector(std::size_t n, std::uint64_t sigma_lattice, EntropySource& entropy);
  NoiseVector(NoiseVector&&) noexcept = default;
  NoiseVector& operator=(NoiseVector&&) = delete;
  NoiseVector(const NoiseVector&) = delete;
  NoiseVector& operator=(const NoiseVector&) = delete;
  ~NoiseVector();

  /// Consumes both, and wipes both. Addition is modulo 2^64, read as two's complement.
  /// @throws InvariantError if lengths differ or the noise was already spent.
  NoisySum publish(RawSum&& raw) &&;

 private:
  std::vector<std::int64_t> noise_;
  bool secure_;
};

}  // namespace muffle::privacy
