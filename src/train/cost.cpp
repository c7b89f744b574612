#include "muffle/train/cost.hpp"

#include <algorithm>
#include <memory>

#include "muffle/model/network.hpp"
#include "muffle/model/twin_kind.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {
namespace {

/// What a training from the closed form adds on root; the other ranks lack the closed form's own 8 C q^2.
/// @param order  q of the second moments
std::uint64_t start_memory(const release::ReleasePlan& plan, std::uint64_t order, const TrainSpec& spec,
                           std::uint64_t ranks) {
  const std::uint64_t classes = plan.classes(), d = plan.schema.dims(), all = classes * order * order;
  // While targets are drawn towards the closed form (moments_start.cpp, credible_target): the closed form and
  // the moments in double; the factors under the network, the noisy target and the closed form's own in
  // float; four differences in double and their result in float.
  const std::uint64_t setup = all * (8 + 8 + 3 * 4 + 4 * 8 + 4);
  // In a step (objective.cpp): the closed form in double; the factors under both networks, target, sums,
  // message and mean in float; the difference in float and, for the loss, three times in double.
  const std::uint64_t step = all * (8 + 6 * 4 + 4 + 3 * 8);
  // The proxy's mean embeddings, of 20 batches and two models, and its map (proxy.hpp).
  std::uint64_t proxy = 0;
  if (const auto b = plan.proxy())
    proxy = 4 * plan.features(*b) * 2 * 20 * classes +
            4 * static_cast<std::uint64_t>(plan.maps[*b].map->numbers_in_map());
  // Records in the closed form's and the moments' tensors (closed_form_tensors.cpp, moments_twin.cpp),
  // most of them when the running statistics are taken (trainer.hpp).
  const std::uint64_t batch = std::max<std::uint64_t>(spec.batch, kStatisticsBatch) / ranks + 1;
  return std::max(setup, step) + proxy + 4 * batch * (8 * d + 6 * order);
}

}  // namespace

Cost cost(const release::ReleasePlan& plan, const model::GeneratorSettings& generator, const TrainSpec& spec,
          std::uint64_t ranks) {
  Cost out;
  if (const auto* closed = generator.closed_form()) {
    out.fit_root = closed->fit_bytes(plan);
    return out;
  }
  const std::vector<std::size_t> maps = matched_maps(plan.maps, spec.from_moments);
  const auto moments = plan.second_moments();
  if (maps.empty() || (spec.from_moments && !moments)) return out;
  const model::NetworkSettings& architecture = *generator.network();
  std::shared_ptr<const model::NetworkSettings> beside;
  std::uint64_t order = 0;
  if (spec.from_moments) {
    order = plan.maps[*moments].map->second_moments()->order();
    beside = architecture.beside(order - 1);
  }
  const model::NetworkSize size = (beside ? *beside : architecture).size(plan.schema);
  const std::uint64_t classes = plan.classes(), d = plan.schema.dims(),
                      batch = (spec.batch + ranks - 1) / ranks;
  std::uint64_t features = 0, numbers_in_maps = 0, columns = 0;
  for (const std::size_t b : maps) {
    const features::FeatureMap& map = *plan.maps[b].map;
    columns += model::twin_columns(map);
    if (map.has_second_moments()) continue;  // start_memory() has them
    features += map.features();
    numbers_in_maps += static_cast<std::uint64_t>(map.numbers_in_map());
    // Phases, and their gradient.
    out.step_flops += 2 * static_cast<double>(spec.batch) * map.cost().flops_per_record;
  }
  out.parameters = size.parameters;
  // The artifact and its bytes; target, sums, message and gradient of a step; phases and their gradient;
  // parameters, gradients and Adam's two moments.
  out.memory = 2 * 4 * numbers_in_maps + 16 * plan.size() + 4 * 4 * features * classes +
               4 * batch * (features + 4 * d) + 16 * size.parameters;
  if (spec.from_moments) out.memory += start_memory(plan, order, spec, ranks);
  out.step_embedding = 4 * (classes * columns + classes);
  out.step_batch_norm = 8 * (4 * size.normed_features + size.norms);
  out.step_gradients = 4 * size.parameters;
  return out;
}

}  // namespace muffle::train
