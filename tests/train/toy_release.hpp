#pragma once

#include <string>

#include "muffle/core/hash.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/features/rff.hpp"
#include "train/toy.hpp"

namespace muffle::test {

/// A release that the artifact reader accepts, of the toy's target with no noise added (but a plan that says
/// so much).
inline release::Artifact release_of(const Toy& toy) {
  release::Artifact a;
  a.schema = toy.generator.schema;
  const features::RffSpec rff{.dims = a.schema.dims(), .features = 64, .length_scale = 2.0};
  a.records = 300;
  const std::vector<float> frequencies = features::rff_frequencies(rff);
  a.blocks = {{{rff}, to_hex(sha256(std::as_bytes(std::span(frequencies))))}};
  a.config_hash = to_hex(sha256("config"));
  a.muffle_version = "test";
  a.is_private = false;
  privacy::SensitivityInput input;
  input.blocks = {bound_of(a.blocks[0].spec)};
  privacy::PrivacySpec spec;
  spec.epsilon = 1.0;
  spec.max_records_per_person = 1;
  a.noise = privacy::plan_noise(spec, input, a.coordinates());
  const auto dims = static_cast<std::int64_t>(rff.dims);
  const torch::Tensor omega = torch::tensor(frequencies).view({-1, dims});
  const torch::Tensor labels = torch::arange(300) % 3;
  const torch::Tensor x = torch::sigmoid(toy_normal({300, dims}, 2) + 2.0 * (labels.unsqueeze(1) - 1));
  const torch::Tensor sums = model::FourierEmbedding(omega, 3).class_sums(x, labels) * ((1 << 24) - 1);
  const torch::Tensor values = sums.to(torch::kInt64).contiguous();
  a.values.assign(values.data_ptr<std::int64_t>(), values.data_ptr<std::int64_t>() + values.numel());
  return a;
}

}  // namespace muffle::test
