#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release::testing_artifact {

struct Settings {
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  bool counts = false;
  std::uint64_t records = 60'000;
  std::uint64_t records_per_person = 1;
  double epsilon = 1.0;
  std::size_t classes = 3, features = 8;
  bool rff = true, moments = false;  ///< which blocks, moments first
  double weight = 1.0;               ///< of the moments
  bool proxy = false;                ///< last
};

/// The noise that the artifact's blocks need for its adjacency, counts and records per person.
inline privacy::NoisePlan plan_for(const Artifact& a, privacy::PrivacySpec spec) {
  spec.adjacency = a.adjacency;
  spec.max_records_per_person = a.max_records_per_person;
  privacy::SensitivityInput input;
  for (const ReleasedBlock& block : a.blocks) input.blocks.push_back(bound_of(block.spec));
  input.adjacency = a.adjacency;
  input.counts = a.counts;
  input.counts_weight = a.counts_weight;
  input.max_records_per_person = a.max_records_per_person;
  return privacy::plan_noise(spec, input, a.coordinates());
}

/// A small release as the product would make it, with made-up values.
inline Artifact sample_artifact(const Settings& s = {}) {
  const bool replace = s.adjacency == privacy::Adjacency::kReplaceOne;
  Artifact a;
  a.schema.shape = {1, 2, 2};
  a.schema.classes = s.classes;
  if (s.moments) {
    const features::MomentsSpec moments = features::resolved(
        {.kind = features::MomentLiftKind::kImage, .shape = a.schema.shape, .coefficients = 2});
    a.blocks.push_back({{moments, s.weight}, ""});
  }
  if (s.rff) {
    a.blocks.push_back({{features::RffSpec{.dims = 4,
                                           .features = s.features,
                                           .length_scale = 1.5,
                                           .kind = features::FrequencyKind::kOrthogonal,
                                           .seed = 0xFFFFFFFFFFFFFFFFull}},
                        ""});
  }
  if (s.proxy) {
    const features::RffSpec rff{.dims = 4, .features = 6, .length_scale = 1.5, .seed = 2};
    a.blocks.push_back({{rff, 0.5, true}, ""});
  }
  for (ReleasedBlock& block : a.blocks) block.map_hash = map_hash(block.spec);
  a.counts = s.counts;
  a.counts_weight = 1.0;
  a.records = replace ? s.records : 0;
  a.adjacency = s.adjacency;
  a.max_records_per_person = s.records_per_person;
  a.config_hash = "00c0ffee";
  a.data_id = "patients-2024";
  a.ledger_charge = std::string(32, '7');
  a.muffle_version = "0.1.0";
  a.ranks = 2;

  privacy::PrivacySpec spec;
  spec.epsilon = s.epsilon;
  a.noise = plan_for(a, spec);

  const CounterStream stream(11, Stream::kTest);
  for (std::size_t i = 0; i < a.offset(a.blocks.size()); ++i)
    a.values.push_back(std::llround(stream.normal(i) * 1e10));
  if (s.moments) {  // the traces: a record in the constant's entry
    const std::size_t block = *a.find("moments");
    const double scale = features::moments_scale(*a.blocks[block].spec.moments());
    for (std::size_t c = 0; c < s.classes; ++c)
      a.values[a.offset(block) + c * a.features(block)] =
          std::llround(static_cast<double>(s.records / s.classes) * scale * scale);
  }
  for (std::size_t c = 0; s.counts && c < s.classes; ++c) {
    a.values.push_back(static_cast<std::int64_t>(s.records / s.classes) << a.lattice_bits);
  }
  return a;
}

/// The only size of noise of a release of one random Fourier block.
inline std::uint64_t sigma_lattice(const Artifact& a) {
  return a.noise.parts.front().runs.front().sigma_lattice;
}

}  // namespace muffle::release::testing_artifact
