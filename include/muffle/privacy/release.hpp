#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/wipe.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::privacy {

/// Of one release, of any kind.
inline constexpr std::uint64_t kMostRounds = 100;
/// Of counts of tables: a fourth tells next to nothing.
inline constexpr std::uint64_t kMostRoundsOfCounts = 3;

/// What the user asked for: (epsilon, delta) or a noise multiplier, never both.
struct PrivacySpec {
  std::optional<double> epsilon;
  double delta = 1e-5;
  std::optional<double> noise_multiplier;
  Adjacency adjacency = Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 0;  ///< required: 1 must be written, not assumed
  /// Ranks' files that one person's records may lie in, each bounded by itself; 0: not said. The bound is
  /// multiplied by it. Of shared files, which are bounded together, 1.
  std::uint64_t person_spans = 0;
  /// Of a release of counts of tables: later rounds count what the numbers before them suggest. 0: as many as
  /// pay.
  std::uint64_t rounds = 1;

  /// Of one person's, over all ranks: what the guarantee is for.
  std::uint64_t records_of_a_person() const {
    return max_records_per_person * (person_spans == 0 ? 1 : person_spans);
  }
  /// Of [privacy].
  void declare(settings::Keys& keys);
};

/// Consecutive released numbers that get noise of one size.
struct NoiseRun {
  std::uint64_t count = 0;
  double unit = 0.0;                ///< lattice units per 1.0 of the feature (bounds::CoordinateRun)
  std::uint64_t sigma_lattice = 0;  ///< sigma x unit, rounded up: what is drawn
  bool operator==(const NoiseRun&) const = default;
};

/// A stretch of the released vector: `runs`, `repeat` times over, such as a block's numbers, once per class.
struct NoisePart {
  std::vector<NoiseRun> runs;
  std::uint64_t repeat = 1;
  bool operator==(const NoisePart&) const = default;
};

/// Numbers that the parts cover.
std::uint64_t length_of(const std::vector<NoisePart>& parts);
/// What is drawn: sigma x unit, rounded up to a whole number of lattice units.
double lattice_sigma(double sigma, double unit);
/// That for each number. @throws ConfigError  a sigma below 1 or beyond 2^50 lattice units.
std::vector<NoisePart> drawn_parts(double sigma, const std::vector<bounds::CoordinatePart>& coordinates);
/// Each run in the vector's order, with the place of its first number.
void for_each_run(const std::vector<NoisePart>& parts,
                  const std::function<void(std::uint64_t first, const NoiseRun& run)>& action);

/// One draw of round(N(0, sigma_lattice^2)) for each number.
/// @param heartbeat  called every kDrawsBetweenSigns draws, a second or so, by count: when it is called tells
/// nothing of what was drawn but the time that it took. What it throws comes out of here; the noise is wiped.
std::vector<std::int64_t> draw_noise(const std::vector<NoisePart>& parts, EntropySource& entropy,
                                     const Heartbeat& heartbeat = {});
inline constexpr std::uint64_t kDrawsBetweenSigns = std::uint64_t{1} << 20;

/// The noise that a release will get; public, computed before any private byte is read.
struct NoisePlan {
  double epsilon = 0.0, delta = 0.0;
  double noise_multiplier = 0.0;  ///< sigma / sensitivity, rounded up
  Sensitivity sensitivity;
  SensitivityInput sensitivity_input;  ///< what the bound was derived from: readers derive it again
  /// noise_multiplier x sensitivity, rounded up, in units of the (weighted) features: one sigma for all of
  /// them, so that mu = sensitivity / sigma. A block of weight w gets sigma / w in units of its own, because
  /// its numbers have 1 / w as many lattice units per 1.0.
  double sigma = 0.0;
  std::vector<NoisePart> parts;  ///< the released vector, in its order
};

/// Noise multiplier, sensitivity, sigma and sigma_lattice are rounded up, never below their exact values.
/// @param sensitivity  its adjacency and records per person must be the spec's.
/// @param coordinates  the released vector: what 1.0 of a feature is, number by number.
/// @throws ConfigError  both or neither of epsilon and noise multiplier, values outside the accountant's
///                      domain, NaN, records per person missing, a sigma below 1 or beyond 2^50 lattice
///                      units: all problems in one message.
NoisePlan plan_noise(const PrivacySpec& spec, const SensitivityInput& sensitivity,
                     const std::vector<bounds::CoordinatePart>& coordinates);

/// The exact lattice sums over all ranks. Private. Move-only; its memory is wiped. It has no way to be
/// printed, compared or saved: the only thing one can do with it is to publish it, once.
class RawSum {
 public:
  explicit RawSum(std::vector<std::uint64_t> sums) : sums_(std::move(sums)) {}

 private:
  friend class NoiseVector;
  Wiped<std::uint64_t> sums_;
};

/// Noisy lattice sums: public for ever after.
struct NoisySum {
  std::vector<std::int64_t> values;  ///< lattice units
  bool is_private = true;            ///< false: seeded test noise; the artifact says NOT PRIVATE
};

/// The noise of one release, drawn before the sum arrives and spent on it. Move-only; its memory is wiped.
class NoiseVector {
 public:
  /// @param parts  NoisePlan::parts: at least one number. @throws InvariantError.
  NoiseVector(const std::vector<NoisePart>& parts, EntropySource& entropy, const Heartbeat& heartbeat = {});

  /// Consumes both, and wipes both. Addition is modulo 2^64, read as two's complement.
  /// @throws InvariantError if lengths differ or the noise was already spent.
  NoisySum publish(RawSum&& raw) &&;

 private:
  Wiped<std::int64_t> noise_;
  bool secure_;
};

}  // namespace muffle::privacy
