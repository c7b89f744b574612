#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/release/artifact.hpp"
#include "support/maps.hpp"

namespace muffle::test {

/// One record a person; no noise multiplier.
inline privacy::PrivacySpec epsilon_of(double epsilon,
                                       privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne) {
  return {.epsilon = epsilon, .noise_multiplier = {}, .adjacency = adjacency, .max_records_per_person = 1};
}

/// The unit of every released number.
inline std::vector<double> units_of(const release::ReleasePlan& plan) {
  std::vector<double> units;
  for (const features::CoordinatePart& part : plan.coordinates()) {
    for (std::uint64_t r = 0; r < part.repeat; ++r) {
      for (const features::CoordinateRun& run : part.runs) units.insert(units.end(), run.count, run.unit);
    }
  }
  return units;
}

/// A release of these records that its reader accepts, not private.
/// @param x  n x d in [0, 1]  @param y  n labels
/// @param draw  of the plan's noise; 0: none is added, and with epsilon 100 the plan says so little that all
/// is credible
/// @param block_of  makes the blocks of maps that need it
/// @param counts  the class counts are in it, without noise
inline release::Artifact planned_release(const schema::Schema& schema, std::vector<features::NamedMap> maps,
                                         const std::vector<float>& x, const std::vector<std::int32_t>& y,
                                         double epsilon = 100.0, std::uint32_t draw = 0,
                                         std::unique_ptr<features::Block> (*block_of)(
                                             const features::FeatureMap&, const features::Lattice&) = nullptr,
                                         bool counts = false) {
  release::Artifact a;
  static_cast<release::ReleasePlan&>(a) =
      release::make_plan({schema, {}, std::move(maps), epsilon_of(epsilon), counts, y.size()});
  a.is_private = false;
  a.config_hash = std::string(64, '0');
  a.muffle_version = "test";
  const CounterStream noise(draw, Stream::kTest, 1);
  const std::size_t d = schema.dims();
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    a.map_hashes.push_back(a.maps[b].map->hash());
    std::unique_ptr<features::Block> block;
    if (block_of) block = block_of(*a.maps[b].map, a.lattice);
    if (!block) block = a.maps[b].map->make_block(a.lattice);
    const auto workspace = block->make_workspace();
    std::vector<std::uint64_t> sums(a.rows(b) * block->features());
    const features::Minibatches& parts = a.maps[b].minibatches;
    for (std::uint64_t epoch = 0; epoch < (parts ? parts.epochs : 1); ++epoch) {
      std::vector<std::int32_t> rows = a.maps[b].labelled ? y : std::vector<std::int32_t>(y.size(), 0);
      for (std::size_t i = 0; parts && i < y.size(); ++i)
        rows[i] += static_cast<std::int32_t>((epoch * parts.batches + parts.batch_of(epoch, i)) *
                                             (a.maps[b].labelled ? a.classes() : 1));
      for (std::size_t first = 0; first < y.size(); first += block->tile())
        block->accumulate(x.data() + first * d, rows.data() + first,
                          std::min(block->tile(), y.size() - first), *workspace, sums);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t run =
          i % block->features() < a.maps[b].map->coordinates(a.lattice).front().count ? 0 : 1;
      const double sigma = draw > 0 ? release::carried_sigma(a, a.aggregation, b, run) : 0.0;
      const double added = sigma * noise.normal(a.values.size());
      a.values.push_back(static_cast<std::int64_t>(sums[i]) + std::llround(added));
    }
  }
  for (std::size_t c = 0; counts && c < a.classes(); ++c) {
    const auto n = static_cast<std::uint64_t>(std::count(y.begin(), y.end(), static_cast<std::int32_t>(c)));
    a.values.push_back(static_cast<std::int64_t>(n * a.counts_units()));
  }
  return a;
}

/// Of random records, whose labels go round.
inline release::Artifact random_release(const schema::Schema& schema,
                                        std::shared_ptr<const features::FeatureMap> map,
                                        std::size_t records) {
  const CounterStream random(1, Stream::kTest);
  std::vector<float> x(records * schema.dims());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.uniform(i));
  std::vector<std::int32_t> y(records);
  for (std::size_t i = 0; i < records; ++i) y[i] = static_cast<std::int32_t>(i % schema.classes);
  return planned_release(schema, {named("m", std::move(map))}, x, y);
}

}  // namespace muffle::test
