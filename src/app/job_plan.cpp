#include "job_plan.hpp"

#include <fmt/format.h>

#include "muffle/core/text.hpp"

namespace muffle::app {
namespace {

/// A mean kernel value that a class of real records may well not reach: above it the plan warns.
constexpr double kDoubtfulKernel = 0.1;

void warn(const Config& c, JobPlan& plan) {
  auto& warnings = plan.warnings;
  const bool replace = c.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  if (!plan.records) {
    warnings.push_back(
        "m is private under add/remove-one adjacency: give --records with a public guess of it to see signal "
        "and noise");
  }
  for (const release::MapForecast& b : plan.maps) {
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
  const release::ReleasePlan& release = config.plan;
  plan.noise = release.noise;
  if (config.data.records > 0) plan.records = static_cast<double>(config.data.records);
  if (guess) plan.records = static_cast<double>(*guess);
  plan.numbers = release.size();
  const privacy::AggregationMode mode = config.aggregation.mode(ranks);
  plan.maps = release::forecast(release, mode, plan.records);
  plan.count_noise = release::count_noise(release, mode);
  plan.release = release::cost(release, ranks, static_cast<std::uint64_t>(threads));
  plan.train = train::cost(release, config.model.chosen(), config.train, static_cast<std::uint64_t>(ranks));
  if (plan.records) plan.embed_flops = *plan.records * plan.release.flops_per_record;
  warn(config, plan);
  return plan;
}

}  // namespace muffle::app
