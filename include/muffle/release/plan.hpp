#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::release {

/// Everything public that one release is made by: what is summed, where each number lies in the released
/// vector, in which units, and with what noise. Built once (make_plan()), from public settings alone;
/// embedding, the round, the release's file and its readers all go by it.
///
/// The released vector: map after map, each C x D class-major; then, if `counts`, C class counts.
struct ReleasePlan {
  schema::Schema schema;
  features::Lattice lattice;             ///< of maps that do not bring their own, and of counts
  std::vector<features::NamedMap> maps;  ///< in the order of their names; one at least
  bool counts = false;
  double counts_weight = 1.0;  ///< lambda
  std::uint64_t records = 0;   ///< m; 0 under add/remove-one, where it is private
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 1;
  privacy::NoisePlan noise;

  std::size_t classes() const { return schema.classes; }
  /// D of map b.
  std::size_t features(std::size_t b) const { return maps.at(b).map->features(); }
  /// Where map b begins; of maps.size(): where the counts do.
  std::size_t offset(std::size_t b) const;
  /// Numbers in the released vector.
  std::size_t size() const { return offset(maps.size()) + (counts ? classes() : 0); }
  /// floor(lambda 2^k), what a record adds to its class's count. @throws ConfigError  lambda outside (0, 1].
  std::uint64_t counts_units() const;
  /// The units of the released vector, part by part: one for each map, then the counts.
  std::vector<features::CoordinatePart> coordinates() const;
  /// What the sensitivity follows from.
  privacy::SensitivityInput sensitivity_input() const;

  /// The map with second moments; the map that models are compared by. None: nullopt.
  std::optional<std::size_t> second_moments() const;
  std::optional<std::size_t> proxy() const;
  /// Whether the release tells class sizes: by counts, or inside a map.
  bool tells_counts() const;
};

struct ReleaseSettings {
  schema::Schema schema;
  features::Lattice lattice;
  std::vector<features::NamedMap> maps;  ///< resolved
  privacy::PrivacySpec privacy;
  bool counts = false;
  std::uint64_t records = 0;
};

/// Chooses the sizes that maps leave open, by the noise that the privacy settings mean and the public number
/// of records (FeatureMap::choose_sizes). What cannot be planned stays as it is: make_plan() says why.
void choose_sizes(features::MapsSettings& maps, const schema::Schema& schema,
                  const privacy::PrivacySpec& privacy, bool counts, std::uint64_t records);

/// @throws ConfigError  contradictions among maps, sums that could overflow; as privacy::plan_noise().
ReleasePlan make_plan(ReleaseSettings settings);

}  // namespace muffle::release
