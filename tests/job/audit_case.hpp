#pragma once

#include <memory>

#include "job/job_setup.hpp"
#include "muffle/embed/audit.hpp"
#include "support/maps.hpp"

namespace muffle::embed::testing_audit {

/// A small release to audit, and the neighbours to audit it with.
struct Case {
  Embedder embedder;
  CanaryPair pair;

  const privacy::NoisePlan& noise() const { return embedder.plan.noise; }
};

struct CaseOptions {
  std::size_t dims = 7, features = 2,
              classes = 2;      ///< features 0: second moments in place of random features
  double moments_weight = 0.0;  ///< above 0: second moments beside them
  bool counts = false;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 1;
};

/// A short length-scale, so that one frequency turns by half a turn and more within the records' range.
inline std::unique_ptr<Case> make_case(const CaseOptions& o) {
  const schema::Schema schema = test::schema_of({o.dims}, o.classes);
  std::vector<features::NamedMap> maps;
  // Little beside the record itself, so that opposite records are orthogonal.
  if (o.moments_weight > 0)
    maps.push_back(test::named("moments", test::make_moments({{"offset", "0.1"}}, schema), o.moments_weight));
  if (o.features > 0)
    maps.push_back(
        test::named("rff", test::make_rff({.dims = o.dims, .features = o.features, .length_scale = 0.2})));
  const privacy::PrivacySpec privacy{.epsilon = {},
                                     .noise_multiplier = 1.0,
                                     .adjacency = o.adjacency,
                                     .max_records_per_person = o.max_records_per_person};
  auto made = std::make_unique<Case>();
  made->embedder = make_embedder(release::make_plan({schema, {}, std::move(maps), privacy, o.counts, 1000}));
  made->pair = worst_pair(made->embedder);
  return made;
}

/// The same release with other noise than was claimed.
inline Embedder with_noise(Embedder embedder, const privacy::NoisePlan& noise) {
  embedder.plan.noise = noise;
  return embedder;
}

/// Noise of another size in place of what was planned.
inline privacy::NoisePlan with_sigma(privacy::NoisePlan plan, double factor) {
  for (privacy::NoisePart& part : plan.parts) {
    for (privacy::NoiseRun& run : part.runs)
      run.sigma_lattice = static_cast<std::uint64_t>(static_cast<double>(run.sigma_lattice) * factor);
  }
  return plan;
}

}  // namespace muffle::embed::testing_audit
