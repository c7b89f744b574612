#include "moments_start.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <cmath>
#include <span>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/model/map_twin.hpp"
#include "muffle/release/noisy_moments.hpp"

namespace muffle::train {

using torch::Tensor;

namespace {

/// Standard deviation of the noise in a number of the map's mean embedding. @throws ConfigError  it is not
/// the same in all.
double noise_per_number(const release::Artifact& a, std::size_t b, double records) {
  const features::NamedMap& map = a.maps.at(b);
  if (a.noise.parts.at(b).runs.size() != 1) {
    throw ConfigError(
        fmt::format("the numbers of the map \"{}\" carry different noise, so models cannot be compared by "
                    "it: use another kind of map as proxy",
                    map.name));
  }
  return release::carried_sigma(a, a.aggregation, b, 0) / (records * map.map->scale(a.lattice));
}

}  // namespace

MatchedMap match_map(const release::Artifact& a, std::size_t b, const release::Target& target,
                     const torch::Device& device) {
  release::check_map(a, b);
  const features::NamedMap& map = a.maps.at(b);
  const std::size_t rows = map.labelled ? a.classes() : 1;
  const std::shared_ptr<const model::MapTwin> twin = model::make_twin(
      *map.map, {static_cast<std::int64_t>(rows), torch::TensorOptions(torch::kFloat32).device(device)});
  const double scale = map.map->scale(a.lattice);
  std::vector<double> sigmas;
  for (std::size_t run = 0; run < a.noise.parts.at(b).runs.size(); ++run)
    sigmas.push_back(release::carried_sigma(a, a.aggregation, b, run));
  std::vector<double> weights = target.column_weight;
  for (double& w : weights) w *= w;  // the objective weighs squared residuals
  if (!map.labelled) weights = {1.0};
  const std::uint64_t batches = std::max<std::uint64_t>(1, map.minibatches.batches);
  MatchedMap out{map.name,
                 {[twin, labelled = map.labelled](const Tensor& x, const Tensor& labels) {
                    return twin->class_sums(x, labelled ? labels : torch::zeros_like(labels));
                  },
                  {},
                  std::move(weights),
                  twin->noise_square(sigmas, scale, target.records / static_cast<double>(batches)),
                  std::pow(map.map->bound().norm, 2.0)},
                 map.weight * map.weight};
  const std::span sums = std::span(a.values).subspan(a.offset(b), a.rows(b) * a.features(b));
  if (!map.minibatches) {
    out.matching.target = twin->target(sums, scale, target.records);
    return out;
  }
  // Of each batch the mean embedding of its own records, whose number is public.
  const std::size_t numbers = rows * a.features(b);
  const std::vector<std::uint64_t> sizes = map.minibatches.sizes(a.records);
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    const auto records = static_cast<double>(std::max<std::uint64_t>(1, sizes[part]));
    out.matching.minibatches.push_back(twin->target(sums.subspan(part * numbers, numbers), scale, records));
    const Tensor share = out.matching.minibatches.back() / static_cast<double>(sizes.size());
    out.matching.target = part == 0 ? share : out.matching.target + share;
  }
  return out;
}

MomentsStart::MomentsStart(comm::HostComm& comm, const release::Artifact& artifact,
                           const model::NetworkSettings& architecture, const TrainSpec& spec,
                           Placement& placement, Heartbeat heartbeat)
    : collective_(placement.collective) {
  measurement_.device = placement.device;
  measurement_.seed = spec.seed;
  measurement_.heartbeat = std::move(heartbeat);
  std::vector<MatchedMap> maps;
  comm::agree(comm, "fitting the closed form", true, [&] {
    settings::Problems problems;
    start_of(artifact.maps, problems);
    loss_weight_problems(spec, artifact.maps, problems);
    if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
    fit(comm, artifact, architecture, spec.seed);
    const release::Target target = release::make_target(artifact);
    measurement_.class_share = target.class_share;
    for (const std::size_t b : matched_maps(artifact.maps, /*from_moments=*/true)) {
      maps.push_back(match_map(artifact, b, target, placement.device));
      maps.back().loss_weight = loss_weight(spec, artifact.maps[b]);
    }
    const std::size_t proxy = *artifact.proxy();
    proxy_ = match_map(artifact, proxy, target, placement.device).matching;
    proxy_noise_ = noise_per_number(artifact, proxy, target.records);
  });
  closed_->to(placement.device);
  for (auto& buffer : closed_->named_buffers()) {
    if (buffer.value().numel() > 0) collective_->broadcast(buffer.value());
  }
  for (MatchedMap& map : maps) add(std::move(map), comm.is_root());
}

void MomentsStart::fit(comm::HostComm& comm, const release::Artifact& artifact,
                       const model::NetworkSettings& architecture, std::uint64_t seed) {
  const release::NoisyMoments moments = release::make_noisy_moments(artifact);
  network_ = architecture.beside(moments.order - 1);
  closed_ = network_->build(artifact.schema, seed, collective_);
  if (!comm.is_root()) return;
  closed_model_ = moments::fit_moments_model(moments, network_->plain_share,
                                             [&] { comm.check_peers("fitting the closed form"); });
  closed_->set_closed_form(*closed_model_);
}

void MomentsStart::add(MatchedMap map, bool log) {
  Matching& matching = map.matching;
  for (double& w : matching.weights) w *= map.loss_weight;
  const Tensor start = mean_embedding(*closed_, matching, measurement_, *collective_);
  const Tensor noisy = matching.target;
  matching.target = credible_target(noisy, start, matching.noise_square,
                                    sampling_error(start, measurement_, matching.norm_square));
  if (log) {
    const double all = (noisy - start).square().sum().item<double>();
    const double kept = (matching.target - start).square().sum().item<double>();
    spdlog::info(
        "train: map {}: of the closed form's distance {:.4g} to the release, {:.4g} is more than noise",
        map.name, std::sqrt(all), std::sqrt(kept));
  }
  matchings_.push_back(std::move(matching));
}

void MomentsStart::install(model::Generator& generator) const {
  const torch::NoGradGuard no_grad;
  auto from = closed_->named_buffers();
  for (auto& to : generator.named_buffers()) {
    if (to.key().starts_with("closed_form.")) to.value().copy_(from[to.key()]);
  }
}

model::ProxyChoice MomentsStart::choose(model::Generator& trained) {
  const auto before = mean_embeddings(*closed_, proxy_, measurement_, *collective_);
  const auto after = mean_embeddings(trained, proxy_, measurement_, *collective_);
  return train::choose(proxy_, before, after, measurement_, proxy_noise_);
}

const moments::MomentsModel& MomentsStart::closed_form() const {
  require(closed_model_.has_value(), "the closed form is on root alone: this is a bug in muffle.");
  return *closed_model_;
}

}  // namespace muffle::train
