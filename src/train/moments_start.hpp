#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/moments/moments_model.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/proxy.hpp"

namespace muffle::train {

/// A map of a release as a training matches it.
struct MatchedMap {
  std::string name;
  Matching matching;         ///< each class weighs as column_weight says, squared; loss_weight is left out
  double loss_weight = 1.0;  ///< of the map, by its weight in the release alone
};

/// Rebuilds the map. @param target  of the release: its class weights
/// @throws ProtocolError  it is another than the release's.
MatchedMap match_map(const release::Artifact& release, std::size_t map, const release::Target& target,
                     const torch::Device& device);

/// A training that starts from the closed form (train.init = "moments"): what it starts from, what it is
/// trained on, and which of the two models is kept. Collective, but for install() and closed_form().
class MomentsStart {
 public:
  /// Fits the closed form on root and gives it to all ranks.
  /// @throws on every rank: ConfigError  the release lacks a map, or its moments are of a lift that is not
  /// affine; ProtocolError  a feature map is built otherwise here.
  MomentsStart(comm::HostComm& comm, const release::Artifact& artifact,
               const model::NetworkSettings& architecture, const TrainSpec& spec, Placement& placement,
               Heartbeat heartbeat);

  /// The network beside the closed form.
  const model::NetworkSettings& network() const { return *network_; }
  /// The maps, each with a target that is drawn towards the closed form (credible_target), and weighed by
  /// the square of its weight in the release: then every released number has the same noise.
  Problem problem() const { return {matchings_, measurement_.class_share, measurement_.device}; }
  /// Puts the closed form under a generator that was built from network().
  void install(model::Generator& generator) const;
  /// After the training: which model is nearer to the proxy.
  model::ProxyChoice choose(model::Generator& trained);
  /// Root alone: the closed form, to be written in the network's place.
  const moments::MomentsModel& closed_form() const;

 private:
  void fit(comm::HostComm& comm, const release::Artifact& artifact,
           const model::NetworkSettings& architecture, std::uint64_t seed);
  void add(MatchedMap map, bool log);

  std::shared_ptr<const model::NetworkSettings> network_;
  std::shared_ptr<model::TensorCollective> collective_;
  Measurement measurement_;
  std::optional<moments::MomentsModel> closed_model_;  ///< on root
  std::shared_ptr<model::Generator> closed_;           ///< the closed form under a network of zeros
  std::vector<Matching> matchings_;
  Matching proxy_;
  double proxy_noise_ = 0;  ///< standard deviation of a number of the proxy's mean embedding
};

}  // namespace muffle::train
