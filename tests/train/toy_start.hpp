#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "muffle/core/philox.hpp"
#include "muffle/moments/moments_model.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/train/settings.hpp"
#include "support/planned_release.hpp"
#include "train/moments_start.hpp"
#include "train/toy.hpp"

namespace muffle::test {

enum class StartRecords {
  kTwoCorners,  ///< each class in two far corners, which no normal law draws
  kNormal,      ///< each class a normal law of its own, inside the cube
};

/// A release of moments, random features and, where it is asked for, a proxy, of `count` records of 4 numbers
/// in 3 classes.
/// @param draw  of the noise of the plan, in all three maps; 0: none is added, and with epsilon 100 the
/// plan says so little that all is credible
inline release::Artifact start_release(StartRecords records = StartRecords::kTwoCorners,
                                       double epsilon = 100.0, std::uint32_t draw = 0,
                                       std::size_t count = 3000, bool proxy = true) {
  constexpr std::size_t kDims = 4, kClasses = 3;
  const schema::Schema schema = schema_of({kDims}, kClasses);
  features::RffSpec rff{.dims = kDims, .features = 64, .length_scale = 0.6, .seed = 1}, other = rff;
  other.seed = 2;
  std::vector<features::NamedMap> maps{named("moments", make_moments({{"lift", "vector"}}, schema), 5.0),
                                       named("rff", make_rff(rff)),
                                       named("tested", make_rff(other), 0.5, features::MapRole::kProxy)};
  if (!proxy) maps.pop_back();
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
  return planned_release(schema, std::move(maps), x, y, epsilon, draw);
}

inline std::shared_ptr<const model::NetworkSettings> start_generator() {
  return network("fully-connected", {{"hidden", {32, 32}}});
}

inline train::TrainSpec start_spec() {
  return {.batch = 121, .learning_rate = 0.01, .unbiased = true, .from_moments = true};
}

/// What matches the release's moments and random features, as they are.
inline train::Problem start_problem(const release::Artifact& release) {
  train::Problem problem{{}, {}, torch::kCPU};
  const release::Target target = release::make_target(release);
  problem.class_share = target.class_share;
  for (const std::size_t b : train::matched_maps(release.maps, true)) {
    train::MatchedMap map = train::match_map(release, b, target, torch::kCPU);
    for (double& w : map.matching.weights) w *= map.loss_weight;
    problem.maps.push_back(std::move(map.matching));
  }
  return problem;
}

/// The network beside the closed form, on both maps.
inline std::unique_ptr<train::DataParallel> start_training(
    const release::Artifact& release, std::shared_ptr<model::TensorCollective> collective) {
  const auto beside = start_generator()->beside(release.schema.dims());
  auto training = std::make_unique<train::DataParallel>(*beside, release.schema, start_spec(),
                                                        start_problem(release), std::move(collective));
  training->generator()->set_closed_form(
      moments::fit_moments_model(release::make_noisy_moments(release), beside->plain_share));
  return training;
}

inline Trajectory follow_start(const release::Artifact& release,
                               std::shared_ptr<model::TensorCollective> collective) {
  return follow(*start_training(release, std::move(collective)));
}

}  // namespace muffle::test
