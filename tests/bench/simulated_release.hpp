#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "muffle/core/philox.hpp"
#include "muffle/data/source.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "support/planned_release.hpp"

// Second moments of FashionMNIST with seeded noise, for measurements: nothing of it is ever released.
namespace muffle::bench {

/// FashionMNIST's training images: the first kFit make the sums, the others score.
inline constexpr std::size_t kRecords = 60'000, kFit = 50'000;

/// What a release of these images without noise would say. @param side  k
inline release::NoisyMoments exact_moments(const data::Batch& images, const schema::Schema& schema,
                                           std::size_t side) {
  const test::MapKeys keys{{"lift", "image"}, {"coefficients", std::to_string(side)}};
  return release::make_noisy_moments(test::planned_release(
      schema, {test::named("moments", test::make_moments(keys, schema))}, images.x, images.y));
}

/// The noise of a release that replace-one adjacency and delta = 1e-5 ask for, made smaller by the share of
/// kRecords that was summed: it is to these sums as an honest release's is to those of all records.
inline release::NoisyMoments with_noise(release::NoisyMoments moments, double epsilon, std::uint64_t seed) {
  constexpr double kDelta = 1e-5;
  // Noise in units of the moments: 2^(2 bits) on the diagonal, and 1 / sqrt(2) of it beside it.
  const double sensitivity = privacy::combined_sensitivity({.blocks = {{1.0, true, ""}}}).value;
  const double sigma = sensitivity * privacy::noise_multiplier_for(epsilon, kDelta);
  const double unit = std::pow(moments.moments.scale(), 2) * kRecords / moments.records;
  moments.noise_diagonal = sigma * std::ldexp(1.0, 2 * moments.moments.bits) / unit;
  moments.noise_off_diagonal = moments.noise_diagonal / std::sqrt(2.0);
  const std::size_t q = moments.order;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    const CounterStream random(seed, Stream::kTest, static_cast<std::uint32_t>(c));
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = i; j < q; ++j) {
        const double noise = random.normal(features::SecondMoments::index(q, i, j)) *
                             (i == j ? moments.noise_diagonal : moments.noise_off_diagonal);
        moments.second[(c * q + i) * q + j] += noise;
        if (i != j) moments.second[(c * q + j) * q + i] += noise;
      }
    }
  }
  return moments;
}

}  // namespace muffle::bench
