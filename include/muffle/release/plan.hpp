#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/pairs.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::release {

/// In one release, each round's by itself: as many as its file may hold.
inline constexpr std::size_t kMostMaps = 128;

/// Everything public that one release is made by: what is summed, where each number lies in the released
/// vector, in which units, and with what noise. Built once (make_plan()), from public settings alone;
/// embedding, the round, the release's file and its readers all go by it.
///
/// The released vector: map after map, each C x D class-major (without labels: 1 x D; a minibatch at a time:
/// so for each, epoch after epoch); then, if `counts`, C class counts.
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
  /// Rows of map b: the classes, or 1, for each of its minibatches.
  std::size_t rows(std::size_t b) const { return maps.at(b).rows(classes()); }
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

  /// 1, but where some map belongs to a later round.
  std::size_t rounds() const;
  /// Which of them a part of the noise is of: a map's or, beyond the maps, that of the counts.
  std::size_t round_of(std::size_t part) const { return part < maps.size() ? maps[part].round : 1; }
  /// What round `round` (1 ..) sums, on its own: its maps and, in the first, the counts, with the noise that
  /// the whole release has.
  ReleasePlan of_round(std::size_t round) const;
  /// Map b, of a later round, is this one from now on, which follows from the numbers released before. Its
  /// bound, and so all noise, stay what they are. @throws ConfigError  sums could overflow.
  /// @throws InvariantError  it is another kind of map, or has another bound.
  void go_on_with(std::size_t b, std::shared_ptr<const features::FeatureMap> map);
  /// Map b counts these tables instead: go_on_with() such a map.
  /// @throws ConfigError  they are no tables of such records. @throws InvariantError  map b has none.
  void count_in(std::size_t b, std::vector<features::CountTable> tables);

  /// The map with second moments; the map that models are compared by. None: nullopt.
  std::optional<std::size_t> second_moments() const;
  std::optional<std::size_t> proxy() const;
  /// Why map b cannot be released a minibatch at a time as it says; empty: it can, or does not say so.
  std::string minibatches_problem(std::size_t b) const;
  /// Whether the release tells class sizes: by counts, or inside a map.
  bool tells_counts() const;
};

/// What make_plan() plans from; the fields mean what they mean in ReleasePlan. Public.
struct ReleaseSettings {
  schema::Schema schema;
  features::Lattice lattice;
  std::vector<features::NamedMap> maps;  ///< resolved
  privacy::PrivacySpec privacy;
  bool counts = false;
  std::uint64_t records = 0;
  std::uint64_t expected_records = 0;  ///< a public guess where they are private; 0: none
};

/// Chooses the sizes that maps leave open, by the noise that the privacy settings mean and the public number
/// of records (FeatureMap::choose_sizes). What cannot be planned stays as it is: make_plan() says why.
void choose_sizes(features::MapsSettings& maps, const schema::Schema& schema,
                  const privacy::PrivacySpec& privacy, bool counts, std::uint64_t records);

/// @throws ConfigError  contradictions among maps, sums that could overflow; as privacy::plan_noise().
ReleasePlan make_plan(ReleaseSettings settings);

/// Standard deviation of the noise that the numbers of a run of noise.parts carry, lattice units:
/// sigma_lattice or, where the ranks added shares of which some may be known to others, more. At least 1.
double carried_sigma(const ReleasePlan& plan, const privacy::AggregationMode& mode, std::size_t part,
                     std::size_t run);

/// The first of the released numbers that neither records nor noise can have made: noise beyond 100 sigma
/// does not happen, and no record's number is above its map's norm bound. @param values  of plan.size()
/// numbers
/// @param carried  sigma of the noise in a run of a part, lattice units
std::optional<std::size_t> out_of_range(
    const ReleasePlan& plan, std::span<const std::int64_t> values,
    const std::function<double(std::size_t part, std::size_t run)>& carried);

/// Signal and noise of one map's mean embedding mu~ = S~ / m, in units of the features. The signal's upper
/// bound is public: a class with share p has ||mu_c|| <= p B, reached if all its records were alike. How far
/// below it stays is private: ||mu_c||^2 = p^2 kappa, kappa the mean of the kernel over pairs of the class's
/// records. So the plan says which kappa the data need.
struct MapForecast {
  std::string name;
  std::size_t features = 0;  ///< D_b
  double norm = 1.0;         ///< B, the map's weight included
  double weight = 1.0;
  double signal_most = 0.0;            ///< p B for balanced classes, p = 1 / C
  double noise_per_number = 0.0;       ///< sigma / m
  double noise_per_class = 0.0;        ///< sigma sqrt(D) / m: expected norm of a column's noise
  double noise_norm = 0.0;             ///< sigma sqrt(D C) / m: of the whole map
  double signal_to_noise_most = 0.0;   ///< signal_most / noise_per_class
  double kernel_where_equal = 0.0;     ///< kappa at which a class's signal is as long as its noise
  std::string outlook{};               ///< FeatureMap::outlook()
  std::vector<std::string> drowned{};  ///< TableFeatures::drowned()
};
/// Of all maps. @param records  m, or a guess of it; none: no signal and noise
std::vector<MapForecast> forecast(const ReleasePlan& plan, const privacy::AggregationMode& mode,
                                  std::optional<double> records);
/// Counts, or the moments' traces: standard deviation in records. None: the release tells no class sizes.
std::optional<double> count_noise(const ReleasePlan& plan, const privacy::AggregationMode& mode);

/// Of a table whose schema has rows of a person counted.
struct RowsForecast {
  std::string column;
  std::size_t most = 0;  ///< Column::rows
  double noise = 0.0;  ///< standard deviation of each number of people with at least so many rows, all rounds
  double for_others = 0.0;  ///< by which factor the noise of all else grew for it: 1.04
};
/// None: there is no such column, or no map counts it.
std::optional<RowsForecast> rows_forecast(const ReleasePlan& plan, const privacy::AggregationMode& mode);

/// What may well go wrong with such a release, for people; sentences without their full stops.
/// @param maps  forecast() of the plan  @param count_noise  that of the plan  @param records  as for
/// forecast()
std::vector<std::string> doubts(const ReleasePlan& plan, std::span<const MapForecast> maps,
                                std::optional<double> count_noise, std::optional<double> records);

/// What a release takes, for `muffle plan`.
struct Cost {
  // Of the embedding. None: nobody said how many records there are.
  std::optional<double> flops;       ///< all ranks together
  std::optional<double> flops_each;  ///< a rank, if all have as many records
  // Bytes that one rank needs at once: the large arrays, not the process's base of some 100 MB.
  std::uint64_t memory = 0;  ///< every rank while it embeds
  std::uint64_t root = 0;    ///< the coordinator while it adds the noise and writes
  // Bytes that the reduce of 64-bit sums sends.
  std::uint64_t wire = 0;  ///< from each rank but the coordinator
  double wire_all = 0.0;
};
/// @param threads  of each rank  @param records  as for forecast()
Cost cost(const ReleasePlan& plan, int ranks, std::uint64_t threads, std::optional<double> records);

}  // namespace muffle::release
