#include "moments_start.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <cmath>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/model/moments_embedding.hpp"
#include "muffle/train/proxy.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

constexpr const char* kUser = "train.init = \"moments\"";

/// Standard deviation of the noise in a number of a random Fourier block's mean embedding.
double fourier_noise(const release::Artifact& a, std::size_t block, double records) {
  return release::carried_sigma(a, block, 0) /
         (records * static_cast<double>((std::int64_t{1} << a.lattice_bits) - 1));
}

Tensor frequencies_of(const release::Artifact& a, std::size_t block, torch::Device device) {
  release::check_map(a, block);
  const features::RffSpec& rff = *a.blocks[block].spec.rff();
  return torch::tensor(features::rff_frequencies(rff), torch::kFloat32)
      .view({-1, static_cast<std::int64_t>(rff.dims)})
      .to(device);
}

void weigh(Matching& block, double weight) {
  for (double& w : block.weights) w *= weight * weight;
}

/// Second moments, both triangles of each class's matrix, so that its squared distances are the features'.
Matching match_moments(const release::NoisyMoments& moments, std::vector<double> weights,
                       torch::Device device) {
  const auto classes = static_cast<std::int64_t>(moments.classes);
  const model::MomentsEmbedding embedding(moments.spec, classes,
                                          torch::TensorOptions(torch::kFloat32).device(device));
  Tensor target = torch::tensor(moments.second, torch::kFloat64) / moments.records;
  return {[embedding](const Tensor& x, const Tensor& labels) { return embedding.class_sums(x, labels); },
          target.view({classes, -1}).to(device, torch::kFloat32), std::move(weights)};
}

double noise_square(const release::NoisyMoments& m) {
  const auto q = static_cast<double>(m.order);
  return q * (m.noise_diagonal * m.noise_diagonal + (q - 1) * m.noise_off_diagonal * m.noise_off_diagonal) /
         (m.records * m.records);
}

}  // namespace

MomentsStart::MomentsStart(comm::HostComm& comm, const release::Artifact& artifact,
                           const model::NetworkSettings& architecture, const Tensor& frequencies,
                           const TrainSpec& spec, Placement& placement, Heartbeat heartbeat)
    : collective_(placement.collective) {
  measurement_.device = placement.device;
  measurement_.seed = spec.seed;
  measurement_.heartbeat = std::move(heartbeat);
  std::optional<release::NoisyMoments> moments;
  release::Target target, proxy_target;
  comm::agree(
      comm, "fitting the closed form",
      [&] {
        moments = release::make_noisy_moments(artifact);
        if (!features::MomentLift(moments->spec).is_affine())
          throw ConfigError(
              "train.init = \"moments\" starts from moments of kind \"image\" or \"vector\"; those of the "
              "release "
              "are of another kind, which has no closed form that a network could be added to. Train with "
              "train.init = \"random\", or release other moments.");
        release::require_block(artifact, "proxy", kUser);
        target = release::make_target(artifact);
        proxy_target = release::make_target(artifact, "proxy");
        measurement_.class_share = target.class_share;
        generator_ = architecture.beside(moments->order - 1);
        closed_ = generator_->build(artifact.schema, spec.seed, collective_);
        if (!comm.is_root()) return;
        closed_model_ = model::fit_moments_model(*moments, generator_->plain_share,
                                                 [&] { comm.check_peers("fitting the closed form"); });
        closed_->set_closed_form(*closed_model_);
      },
      /*share_message=*/true);
  closed_->to(placement.device);
  for (auto& buffer : closed_->named_buffers()) {
    if (buffer.value().numel() > 0) collective_->broadcast(buffer.value());
  }

  const std::size_t rff = *artifact.find("rff"), own = *artifact.find("moments"),
                    proxy = *artifact.find("proxy");
  const bool log = comm.is_root();
  Matching fourier = match_fourier(frequencies, target);
  Matching second = match_moments(*moments, fourier.weights, placement.device);
  weigh(second, artifact.blocks[own].spec.weight);
  add_block(std::move(second), noise_square(*moments), "moments", log);
  weigh(fourier, artifact.blocks[rff].spec.weight);
  const double noise = fourier_noise(artifact, rff, target.records);
  add_block(std::move(fourier), noise * noise * static_cast<double>(artifact.features(rff)), "rff", log);
  proxy_.push_back(match_fourier(frequencies_of(artifact, proxy, placement.device), proxy_target));
  proxy_noise_ = fourier_noise(artifact, proxy, proxy_target.records);
}

void MomentsStart::add_block(Matching block, double noise_square, const std::string& name, bool log) {
  const Tensor start = mean_embedding(*closed_, block, measurement_, *collective_);
  const Tensor noisy = block.target;
  block.target = credible_target(noisy, start, noise_square, sampling_error(start, measurement_));
  if (log) {
    const double all = (noisy - start).square().sum().item<double>();
    const double kept = (block.target - start).square().sum().item<double>();
    spdlog::info(
        "train: block {}: of the closed form's distance {:.4g} to the release, {:.4g} is more than noise",
        name, std::sqrt(all), std::sqrt(kept));
  }
  blocks_.push_back(std::move(block));
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
  return train::choose(proxy_.front(), before.front(), after.front(), measurement_, proxy_noise_);
}

const model::MomentsModel& MomentsStart::closed_form() const {
  require(closed_model_.has_value(), "the closed form is on root alone: this is a bug in muffle.");
  return *closed_model_;
}

}  // namespace muffle::train
