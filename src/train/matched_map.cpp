#include "matched_map.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <memory>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::train {

using torch::Tensor;

MatchedMap match_map(const release::Artifact& a, std::size_t b, const release::Target& target,
                     const torch::Device& device) {
  release::check_map(a, b);
  const features::NamedMap& map = a.maps.at(b);
  const std::shared_ptr<const model::MapTwin> twin = model::make_twin(
      *map.map,
      {static_cast<std::int64_t>(a.classes()), torch::TensorOptions(torch::kFloat32).device(device)});
  const double scale = map.map->scale(a.lattice);  // the map's weight changed its noise, not its integers
  std::vector<double> sigmas;
  for (std::size_t run = 0; run < a.noise.parts.at(b).runs.size(); ++run)
    sigmas.push_back(release::carried_sigma(a, b, run));
  std::vector<double> weights = target.column_weight;
  for (double& w : weights) w *= w;  // the objective weighs squared residuals
  const std::span sums = std::span(a.values).subspan(a.offset(b), a.classes() * a.features(b));
  return {map.name,
          {[twin](const Tensor& x, const Tensor& labels) { return twin->class_sums(x, labels); },
           twin->target(sums, scale, target.records), std::move(weights)},
          map.weight,
          twin->noise_square(sigmas, scale, target.records)};
}

double noise_per_number(const release::Artifact& a, std::size_t b, double records) {
  const features::NamedMap& map = a.maps.at(b);
  if (a.noise.parts.at(b).runs.size() != 1) {
    throw ConfigError(fmt::format(
        "the numbers of the map \"{}\" carry different noise, so models cannot be compared by it: "
        "use another kind of map as proxy, such as \"rff\"",
        map.name));
  }
  return release::carried_sigma(a, b, 0) / (records * map.map->scale(a.lattice));
}

}  // namespace muffle::train
