#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "muffle/core/philox.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/features/block_spec.hpp"
#include "muffle/model/moments_embedding.hpp"
#include "muffle/model/moments_model.hpp"
#include "train/toy.hpp"

namespace muffle::test {

enum class StartRecords {
  kTwoCorners,  ///< each class in two far corners, which no normal law draws
  kNormal,      ///< each class a normal law of its own, inside the cube
};

/// A release of moments, random features and proxy of `count` records of 4 numbers in 3 classes.
/// @param draw  of the noise of the plan, in all three blocks; 0: none is added, and with epsilon 100 the
/// plan says so little that all is credible
inline release::Artifact start_release(StartRecords records = StartRecords::kTwoCorners, double epsilon = 100.0,
                                     std::uint32_t draw = 0, std::size_t count = 3000) {
  constexpr std::size_t kDims = 4, kClasses = 3;
  release::Artifact a;
  a.schema.shape = {kDims};
  a.schema.classes = kClasses;
  a.records = count;
  a.is_private = false;
  const features::MomentsSpec moments =
      features::resolved({.kind = features::MomentLiftKind::kVector, .shape = {kDims}});
  features::RffSpec rff{.dims = kDims, .features = 64, .length_scale = 0.6, .seed = 1};
  a.blocks.push_back({{moments, 5.0}, ""});
  a.blocks.push_back({{rff}, ""});
  rff.seed = 2;
  a.blocks.push_back({{rff, 0.5, true}, ""});
  privacy::SensitivityInput input;
  for (release::ReleasedBlock& block : a.blocks) {
    block.map_hash = map_hash(block.spec);
    input.blocks.push_back(bound_of(block.spec));
  }
  a.config_hash = std::string(64, '0');
  a.muffle_version = "test";
  privacy::PrivacySpec spec;
  spec.epsilon = epsilon;
  spec.max_records_per_person = 1;
  a.noise = privacy::plan_noise(spec, input, a.coordinates());

  const CounterStream random(5, Stream::kTest);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto c = static_cast<std::int32_t>(i % kClasses);
    const bool corners = records == StartRecords::kTwoCorners;
    const double side = corners ? (random.uniform(8 * i) < 0.5 ? 0.3 : -0.3) : 0.1;
    for (std::size_t j = 0; j < kDims; ++j) {
      const double turned = c == static_cast<std::int32_t>(j) ? -side : side;
      const double around = (corners ? 0.05 : 0.1) * random.normal(8 * i + 1 + j);
      x.push_back(static_cast<float>(std::clamp(0.5 + turned + around, 0.0, 1.0)));
    }
    y.push_back(c);
  }
  const CounterStream noise(draw, Stream::kTest, 1);
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const release::ReleasedBlock& released = a.blocks[b];
    const auto block = make_block(released.spec, {a.lattice_bits});
    const auto workspace = block->make_workspace();
    std::vector<std::uint64_t> sums(kClasses * block->features());
    for (std::size_t first = 0; first < count; first += block->tile()) {
      const std::size_t n = std::min(block->tile(), count - first);
      block->accumulate(x.data() + first * kDims, y.data() + first, n, *workspace, sums);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t run = i % block->features() < block->coordinates().front().count ? 0 : 1;
      const double sigma = draw > 0 ? release::carried_sigma(a, b, run) : 0.0;
      const double added = sigma * noise.normal(a.values.size());
      a.values.push_back(static_cast<std::int64_t>(sums[i]) + std::llround(added));
    }
  }
  return a;
}

inline model::GeneratorSpec start_generator() {
  model::GeneratorSpec spec;
  spec.kind = model::GeneratorKind::kFullyConnected;
  spec.hidden = {32, 32};
  spec.channels = {};
  return spec;
}

inline train::TrainSpec start_spec() {
  train::TrainSpec spec;
  spec.from_moments = true;
  spec.batch = 121;
  spec.learning_rate = 0.01;
  spec.unbiased = true;
  return spec;
}

/// What matches the release's moments and random features, as they are.
inline train::Problem start_problem(const release::Artifact& release) {
  const release::NoisyMoments m = release::make_noisy_moments(release);
  const auto classes = static_cast<std::int64_t>(m.classes);
  const model::MomentsEmbedding embedding(m.spec, classes, torch::TensorOptions(torch::kFloat32));
  const release::Target target = release::make_target(release);
  const features::RffSpec& rff = *release.blocks[1].spec.rff();
  const torch::Tensor omega =
      torch::tensor(features::rff_frequencies(rff)).view({-1, static_cast<std::int64_t>(rff.dims)});
  const torch::Tensor second = (torch::tensor(m.second, torch::kFloat64) / m.records).view({classes, -1});
  const auto sums = [embedding](const torch::Tensor& x, const torch::Tensor& labels) {
    return embedding.class_sums(x, labels);
  };
  return {{{sums, second.to(torch::kFloat32), std::vector<double>(m.classes, 25.0)},
           train::match_fourier(omega, target)},
          target.class_share,
          torch::kCPU};
}

/// The network beside the closed form, on both blocks.
inline std::unique_ptr<train::DataParallel> start_training(
    const release::Artifact& release, std::shared_ptr<model::TensorCollective> collective) {
  model::GeneratorSpec spec = start_generator();
  spec.schema = release.schema;
  spec.residual = true;
  spec.code = release.schema.dims();
  model::ModelInfo info;
  info.spec = spec;
  auto training = std::make_unique<train::DataParallel>(spec, start_spec(), start_problem(release),
                                                        std::move(collective));
  training->generator()->set_closed_form(model::fit_moments_model(release::make_noisy_moments(release), info));
  return training;
}

inline Trajectory follow_start(const release::Artifact& release,
                               std::shared_ptr<model::TensorCollective> collective, int steps) {
  const auto training = start_training(release, std::move(collective));
  Trajectory out;
  for (int i = 0; i < steps; ++i) out.losses.push_back(training->step());
  add_state(out, *training->generator());
  return out;
}

}  // namespace muffle::test
