#pragma once

#include <memory>

#include "muffle/embed/audit.hpp"
#include "muffle/features/moments.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/features/weighted.hpp"

namespace muffle::embed::testing_audit {

/// A small release to audit, and the neighbours to audit it with.
struct Case {
  Layout layout;
  privacy::NoisePlan plan;
  CanaryPair pair;
};

struct CaseOptions {
  std::size_t dims = 7, features = 2,
              classes = 2;      ///< features 0: second moments in place of random features
  double moments_weight = 0.0;  ///< above 0: second moments beside them
  bool counts = false;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 1;
  double noise_multiplier = 1.0;
};

/// A short length-scale, so that one frequency turns by half a turn and more within the records' range.
inline std::unique_ptr<Case> make_case(const CaseOptions& o) {
  auto made = std::make_unique<Case>();
  made->layout.lattice = {24};
  made->layout.classes = o.classes;
  made->layout.counts = o.counts;
  features::RffSpec rff;
  rff.dims = o.dims;
  rff.features = o.features;
  rff.length_scale = 0.2;
  // Little beside the record itself, so that opposite records are orthogonal.
  const features::MomentsSpec moments{.shape = {o.dims}, .offset = 0.1};
  if (o.moments_weight > 0)
    made->layout.blocks.push_back(
        features::make_weighted_block(features::make_moments_block(moments), o.moments_weight));
  if (o.features > 0) made->layout.blocks.push_back(features::make_rff_block(rff, made->layout.lattice));
  privacy::PrivacySpec spec;
  spec.noise_multiplier = o.noise_multiplier;
  spec.adjacency = o.adjacency;
  spec.max_records_per_person = o.max_records_per_person;
  made->plan =
      privacy::plan_noise(spec, made->layout.sensitivity_input(o.adjacency, o.max_records_per_person),
                          made->layout.coordinates());
  made->pair = worst_pair(made->layout, o.adjacency, o.max_records_per_person);
  return made;
}

}  // namespace muffle::embed::testing_audit
