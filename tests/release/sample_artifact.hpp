#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/plan.hpp"
#include "support/maps.hpp"

namespace muffle::release::testing_artifact {

struct Settings {
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  bool counts = false;
  std::uint64_t records = 60'000;
  std::uint64_t records_per_person = 1;
  double epsilon = 1.0;
  std::size_t classes = 3, features = 8;
  bool rff = true, moments = false, proxy = false;  ///< which maps, each named by its kind or role
  bool coarse = false;                              ///< a second rff map, which comes first
  double weight = 1.0;                              ///< of the moments
  features::Minibatches minibatches{};              ///< of the map "rff"
};

inline privacy::PrivacySpec privacy_of(const Settings& s) {
  return {.epsilon = s.epsilon,
          .noise_multiplier = {},
          .adjacency = s.adjacency,
          .max_records_per_person = s.records_per_person};
}

/// Of records of 2 x 2 pixels.
inline std::vector<features::NamedMap> sample_maps(const Settings& s) {
  using test::named;
  const schema::Schema schema = test::schema_of({1, 2, 2}, s.classes);
  std::vector<features::NamedMap> maps;
  if (s.coarse)
    maps.push_back(named("coarse", test::make_rff({4, 6, 5.0, features::FrequencyKind::kDense, 3})));
  if (s.moments)
    maps.push_back(named("moments", test::make_moments({{"coefficients", "2"}}, schema), s.weight));
  if (s.proxy) {
    maps.push_back(named("proxy", test::make_rff({4, 6, 1.5, features::FrequencyKind::kDense, 2}), 0.5,
                         features::MapRole::kProxy));
  }
  if (s.rff) {
    maps.push_back(named("rff", test::make_rff({4, s.features, 1.5, features::FrequencyKind::kOrthogonal,
                                                0xFFFFFFFFFFFFFFFFull})));
    maps.back().minibatches = s.minibatches;
  }
  return maps;
}

inline ReleasePlan sample_plan(const Settings& s = {}) {
  return make_plan(
      {test::schema_of({1, 2, 2}, s.classes), {}, sample_maps(s), privacy_of(s), s.counts, s.records});
}

/// The noise that the artifact's maps need for its adjacency, counts and records per person.
inline privacy::NoisePlan plan_for(const Artifact& a, privacy::PrivacySpec spec) {
  spec.adjacency = a.adjacency;
  spec.max_records_per_person = a.max_records_per_person;
  return privacy::plan_noise(spec, a.sensitivity_input(), a.coordinates());
}

/// A release of this plan, whose values are zeros.
inline Artifact artifact_of(ReleasePlan plan) {
  Artifact a;
  static_cast<ReleasePlan&>(a) = std::move(plan);
  for (const features::NamedMap& map : a.maps) a.map_hashes.push_back(map.map->hash());
  a.config_hash = "00c0ffee";
  a.data_id = "patients-2024";
  a.ledger_charge = std::string(32, '7');
  a.muffle_version = "0.1.0";
  a.aggregation = privacy::SingleCoordinator{2};
  a.values.assign(a.size(), 0);
  return a;
}

/// A release of a table's counts, labelled, two maps of them.
inline Artifact sample_tables(privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne) {
  const schema::Schema schema = test::table_schema({3, 4, 2}, 2);
  const auto map = test::make_map("pairs", {{"triples", "[\"a:b:c\"]"}}, schema);
  const auto few = test::make_map("pairs", {{"weights", "[\"*:*=0\", \"a:b=2.5\"]"}}, schema);
  const std::uint64_t records = adjacency == privacy::Adjacency::kReplaceOne ? 1000 : 0;
  Artifact a =
      artifact_of(make_plan({schema,
                             {},
                             {test::named("all", map->clone()), test::named("few", few->clone(), 0.5)},
                             privacy_of({.adjacency = adjacency}),
                             false,
                             records}));
  for (std::size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = static_cast<std::int64_t>(i % 7) * (std::int64_t{1} << 22) - (1 << 20);
  return a;
}

/// A release of a table's counts in three rounds, none of whose numbers are there yet. Each counts other
/// tables.
inline ReleasePlan rounds_plan(privacy::PrivacySpec spec = privacy_of({})) {
  const schema::Schema schema = test::table_schema({3, 4, 2}, 2);
  const std::shared_ptr<const features::FeatureMap> map = test::make_map("pairs", {}, schema);
  std::vector<features::NamedMap> maps;
  for (std::size_t r = 0; r < 3; ++r) {
    const std::string name = "p-" + std::to_string(r + 1);
    maps.push_back({name, features::MapRole::kMatch, std::sqrt(std::vector{0.25, 0.25, 0.5}[r]), map, r + 1});
  }
  maps[0].map = map->tables()->counting({{{0}}, {{1}}, {{2}}});
  return make_plan({schema, {}, std::move(maps), spec, true, 1000});
}
/// What its rounds 2 and 3 count.
inline std::vector<features::CountTable> tables_of_round(std::size_t round) {
  if (round == 2) return {{{0, 1}, {{0, 1, 1}, {}}}, {{1, 2}}};
  return {{{0, 1}}, {{0, 1, 2}, {}, 2.0}};
}

/// The map of this name.
inline std::size_t find_map(const ReleasePlan& plan, const std::string& name) {
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    if (plan.maps[b].name == name) return b;
  }
  throw std::out_of_range("no map " + name);
}

/// A small release as the product would make it, with made-up values.
inline Artifact sample_artifact(const Settings& s = {}) {
  Artifact a = artifact_of(sample_plan(s));
  const CounterStream stream(11, Stream::kTest);
  for (std::size_t i = 0; i < a.offset(a.maps.size()); ++i)
    a.values[i] = std::llround(stream.normal(i) * 1e10);
  if (s.moments) {  // the traces: a record in the constant's entry
    const std::size_t b = find_map(a, "moments");
    for (std::size_t c = 0; c < s.classes; ++c)
      a.values[a.offset(b) + c * a.features(b)] =
          std::llround(static_cast<double>(s.records / s.classes) * a.maps[b].map->scale(a.lattice));
  }
  for (std::size_t c = 0; s.counts && c < s.classes; ++c)
    a.values[a.offset(a.maps.size()) + c] = static_cast<std::int64_t>(s.records / s.classes)
                                            << a.lattice.bits;
  return a;
}

/// The only size of noise of a release of one random Fourier block.
inline std::uint64_t sigma_lattice(const Artifact& a) {
  return a.noise.parts.front().runs.front().sigma_lattice;
}

}  // namespace muffle::release::testing_artifact
