#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/embed/artifact.hpp"

namespace muffle::embed::testing_artifact {

struct Settings {
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  bool counts = false;
  std::uint64_t records = 60'000;
  std::uint64_t records_per_person = 1;
  double epsilon = 1.0;
  std::size_t classes = 3, features = 8;
};

/// A small release as the product would make it, with made-up values.
inline Artifact sample_artifact(const Settings& s = {}) {
  const bool replace = s.adjacency == privacy::Adjacency::kReplaceOne;
  Artifact a;
  a.schema.shape = {1, 2, 2};
  a.schema.classes = s.classes;
  a.rff.dims = 4;
  a.rff.features = s.features;
  a.rff.length_scale = 1.5;
  a.rff.kind = features::FrequencyKind::kOrthogonal;
  a.rff.seed = 0xFFFFFFFFFFFFFFFFull;
  a.counts = s.counts;
  a.counts_weight = 1.0;
  a.records = replace ? s.records : 0;
  a.adjacency = s.adjacency;
  a.max_records_per_person = s.records_per_person;
  a.config_hash = "00c0ffee";
  a.data_id = "patients-2024";
  a.ledger_charge = std::string(32, '7');
  a.frequencies_hash = hash_frequencies(std::vector<float>(16, 0.25f));
  a.muffle_version = "0.1.0";
  a.ranks = 2;

  privacy::PrivacySpec spec;
  spec.epsilon = s.epsilon;
  spec.adjacency = s.adjacency;
  spec.max_records_per_person = s.records_per_person;
  privacy::SensitivityInput input;
  input.blocks = {{1.0, false, "cos^2 + sin^2 = 1 (Rahimi & Recht 2007)."}};
  input.adjacency = s.adjacency;
  input.counts = s.counts;
  input.counts_weight = 1.0;
  input.max_records_per_person = s.records_per_person;
  a.noise = privacy::plan_noise(spec, input, a.lattice_bits);

  const CounterStream stream(11, Stream::kTest);
  for (std::size_t i = 0; i < s.classes * s.features; ++i) {
    a.values.push_back(std::llround(stream.normal(i) * 1e10));
  }
  for (std::size_t c = 0; s.counts && c < s.classes; ++c) {
    a.values.push_back(static_cast<std::int64_t>(s.records / s.classes) << a.lattice_bits);
  }
  return a;
}

}  // namespace muffle::embed::testing_artifact
