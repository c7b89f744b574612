#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/data/source.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "support/maps.hpp"

// Second moments of FashionMNIST with seeded noise, for measurements: nothing of it is ever released.
namespace muffle::bench {

/// FashionMNIST's training images: the first kFit make the sums, the others score.
inline constexpr std::size_t kRecords = 60'000, kFit = 50'000;

inline data::DataSpec training_files(const std::string& folder) {
  data::DataSpec spec;
  spec.dir = folder;
  spec.features = "train-images-idx3-ubyte.gz";
  spec.labels = "train-labels-idx1-ubyte.gz";
  spec.records = kRecords;
  spec.schema.shape = {1, 28, 28};
  spec.schema.classes = 10;
  return spec;
}

/// What a release of these images without noise would say. @param side  k
inline release::NoisyMoments exact_moments(const data::Batch& images, const schema::Schema& schema,
                                           std::size_t side) {
  const auto map = test::make_moments({{"lift", "image"}, {"coefficients", std::to_string(side)}}, schema);
  const auto block = map->make_block({});
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(schema.classes * block->features());
  for (std::size_t i = 0; i < images.n; i += block->tile()) {
    block->accumulate(images.x.data() + i * block->dims(), images.y.data() + i,
                      std::min(block->tile(), images.n - i), *workspace, sums);
  }
  release::NoisyMoments out;
  out.classes = schema.classes;
  out.moments = *map->second_moments();
  out.order = out.moments.order();
  out.records = static_cast<double>(images.n);
  const double scale = map->scale({});
  for (std::size_t c = 0; c < out.classes; ++c) {
    for (std::size_t i = 0; i < out.order; ++i) {
      for (std::size_t j = 0; j < out.order; ++j) {
        const std::size_t at = c * block->features() + features::SecondMoments::index(out.order, i, j);
        out.second.push_back(static_cast<double>(static_cast<std::int64_t>(sums[at])) / scale);
      }
    }
  }
  return out;
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
