#include "job_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/text.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::app {
namespace {

/// A mean kernel value that a class of real records may well not reach: above it the plan warns.
constexpr double kDoubtfulKernel = 0.1;
/// @param sigma  of the noise that the map's numbers carry, in units of its (weighted) features
MapPlan plan_map(const features::NamedMap& map, std::size_t classes, double sigma,
                 std::optional<double> records) {
  MapPlan b;
  b.name = map.name;
  b.features = map.map->features();
  b.norm = map.bound().norm;
  b.weight = map.weight;
  if (!records) return b;
  const auto d = static_cast<double>(b.features);
  b.signal_most = b.norm / static_cast<double>(classes);
  b.noise_per_number = sigma / *records;
  b.noise_per_class = b.noise_per_number * std::sqrt(d);
  b.noise_norm = b.noise_per_class * std::sqrt(static_cast<double>(classes));
  b.signal_to_noise_most = b.signal_most / b.noise_per_class;
  b.kernel_where_equal = 1.0 / (b.signal_to_noise_most * b.signal_to_noise_most);
  return b;
}

void plan_memory(const release::ReleasePlan& release, std::uint64_t threads, JobPlan& plan) {
  const std::uint64_t numbers = release.size();
  // Each thread's sums and the shard's.
  plan.release_memory = 8 * numbers * (threads + 1);
  std::uint64_t maps = 0;
  for (const features::NamedMap& map : release.maps) {
    const features::MapCost each = map.map->cost();
    plan.release_memory += each.bytes + threads * each.bytes_per_thread;
    maps += 4 * static_cast<std::uint64_t>(map.map->numbers_in_map());
  }
  // The shard's sums and the reduced ones, the noise, the released numbers and the file's bytes.
  plan.release_root_memory = std::max(plan.release_memory, maps + 8 * numbers * 5);
}

void plan_wire(double ranks, JobPlan& plan) {
  plan.release_wire = 8 * plan.numbers;
  plan.release_wire_all = static_cast<double>(plan.release_wire) * (ranks - 1);
  plan.step_wire = plan.cost.step_embedding + plan.cost.step_batch_norm + plan.cost.step_gradients;
  plan.step_wire_per_rank = static_cast<double>(plan.step_wire) * 2 * (ranks - 1) / ranks;
}

void warn(const Config& c, JobPlan& plan) {
  auto& warnings = plan.warnings;
  const bool replace = c.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  if (!plan.records) {
    warnings.push_back(
        "m is private under add/remove-one adjacency: give --records with a public guess of it to see signal "
        "and noise");
  }
  for (const MapPlan& b : plan.maps) {
    if (!plan.records) break;
    const std::string remedy =
        "more records, fewer classes or a larger epsilon help; so do fewer features, as the noise's length "
        "grows with their square root";
    if (b.signal_to_noise_most < 1) {
      warnings.push_back(fmt::format(
          "map {}: the noise dominates whatever the data are: a class's mean embedding is at most {:.3g} "
          "long and its noise {:.3g}; {}",
          b.name, b.signal_most, b.noise_per_class, remedy));
    } else if (b.kernel_where_equal > kDoubtfulKernel) {
      warnings.push_back(fmt::format(
          "map {}: the noise may dominate: a class's mean embedding is longer than its noise only if two "
          "of its records have a kernel value above {:.3g} on average; {}",
          b.name, b.kernel_where_equal, remedy));
    }
  }
  if (plan.records && plan.count_noise) {
    const double per_class = *plan.records / static_cast<double>(c.data.schema.classes);
    if (*plan.count_noise > 0.1 * per_class)
      warnings.push_back(fmt::format(
          "counts: their noise of {:.3g} records is above a tenth of a class's {:.3g}, so the class shares "
          "will be rough",
          *plan.count_noise, per_class));
  }
  if (plan.records && c.privacy.delta * *plan.records >= 1)
    warnings.push_back(fmt::format("delta {} is not below 1 / {:.0f} records: use a smaller one",
                                   exact_text(c.privacy.delta), *plan.records));
  if (plan.noise.epsilon > 10)
    warnings.push_back(
        fmt::format("epsilon {} is a weak promise: odds about one person may change by a factor e^{}",
                    exact_text(plan.noise.epsilon), exact_text(plan.noise.epsilon)));
  if (replace && c.release_counts && c.sample.uniform_labels)
    warnings.push_back("class counts are released, but sample.labels = \"uniform\" does not use them");
}

}  // namespace

JobPlan plan_job(const Config& config, int ranks, int threads, std::optional<std::uint64_t> guess) {
  JobPlan plan;
  const release::ReleasePlan release = plan_release(config);
  plan.noise = release.noise;
  if (config.data.records > 0) plan.records = static_cast<double>(config.data.records);
  if (guess) plan.records = static_cast<double>(*guess);
  plan.numbers = release.size();

  // What is drawn: a whole number of lattice units; in shares more of them.
  const privacy::AggregationMode mode = config.aggregation.mode(ranks);
  std::optional<privacy::DistributedNoisePlan> shares;
  if (mode.distributed) shares = privacy::plan_distributed_noise(plan.noise, ranks, mode.colluding);
  const auto sigma = [&](std::size_t part) {
    const privacy::NoiseRun& run = plan.noise.parts[part].runs.front();
    return (shares ? shares->total_sigma(shares->shares[part].runs.front())
                   : static_cast<double>(run.sigma_lattice)) /
           run.unit;
  };
  double flops_per_record = 0.0;
  for (std::size_t b = 0; b < release.maps.size(); ++b) {
    const features::NamedMap& map = release.maps[b];
    plan.maps.push_back(plan_map(map, release.classes(), sigma(b), plan.records));
    flops_per_record += map.map->cost().flops_per_record;
    if (const auto inside = map.map->counts_inside())
      plan.count_noise = sigma(b) / map.weight * std::sqrt(static_cast<double>(inside->numbers));
  }
  if (config.release_counts) plan.count_noise = sigma(release.maps.size()) / release.counts_weight;
  if (plan.records) plan.embed_flops = *plan.records * flops_per_record;
  plan.cost = train::cost(release, config.model.chosen(), config.train, static_cast<std::uint64_t>(ranks));
  plan_memory(release, static_cast<std::uint64_t>(threads), plan);
  plan_wire(ranks, plan);
  warn(config, plan);
  return plan;
}

}  // namespace muffle::app
