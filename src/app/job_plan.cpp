#include "job_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator_size.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/model/grid_density.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::app {
namespace {

/// A mean kernel value that a class of real records may well not reach: above it the plan warns.
constexpr double kDoubtfulKernel = 0.1;
/// Records that one thread embeds at a time (rff_block.cpp, moments_block.cpp); an estimate needs no more.
constexpr std::uint64_t kRffTile = 48, kMomentsTile = 1024;

/// @param sigma  of the noise that the block's numbers carry, in units of its (weighted) features
BlockPlan plan_block(const Config& c, const features::BlockSpec& spec, double sigma,
                     std::optional<double> records) {
  BlockPlan b;
  b.name = kind_of(spec);
  b.features = features_of(spec);
  b.norm = bound_of(spec).norm;
  b.weight = spec.weight;
  if (!records) return b;
  const auto classes = static_cast<double>(c.data.schema.classes), d = static_cast<double>(b.features);
  b.signal_most = b.norm / classes;
  b.noise_per_number = sigma / *records;
  b.noise_per_class = b.noise_per_number * std::sqrt(d);
  b.noise_norm = b.noise_per_class * std::sqrt(classes);
  b.signal_to_noise_most = b.signal_most / b.noise_per_class;
  b.kernel_where_equal = 1.0 / (b.signal_to_noise_most * b.signal_to_noise_most);
  return b;
}

/// Large arrays of one block while it embeds: the map, and each thread's scratch.
std::uint64_t block_memory(const features::BlockSpec& spec, std::uint64_t threads) {
  const std::uint64_t d = dims_of(spec);
  // Packed frequencies and, while they are made, the plain ones; records and their lattice values.
  if (spec.rff()) return 8 * (features_of(spec) / 2) * d + threads * 4 * kRffTile * (d + features_of(spec));
  const std::uint64_t q = moments_order(*spec.moments());
  return 8 * static_cast<std::uint64_t>(numbers_in_map(spec)) +
         threads * (kMomentsTile * (4 * d + 8 * q) + 8 * q * q);
}

double flops_of_record(const features::BlockSpec& spec) {
  const auto d = static_cast<double>(dims_of(spec));
  // A multiplication and an addition for each of D/2 frequencies and d numbers.
  if (spec.rff()) return static_cast<double>(features_of(spec)) * d;
  const auto q = static_cast<double>(moments_order(*spec.moments()));
  const auto k = static_cast<double>(spec.moments()->coefficients);
  // The lower triangle of z z^T; cosine transforms, of which the one along the width is the larger.
  return q * (q + 1) + 2 * d * k;
}

/// C q^2, the numbers of all classes' second moments with both triangles.
std::uint64_t moment_numbers(const Config& c) {
  for (const features::BlockSpec& spec : block_specs(c)) {
    if (const features::MomentsSpec* moments = spec.moments())
      return c.data.schema.classes * moments_order(*moments) * moments_order(*moments);
  }
  return 0;
}

/// Root alone, which fits the closed form and writes it (moments_fit.cpp).
std::uint64_t fit_memory(const Config& c, std::uint64_t numbers) {
  const std::uint64_t all = moment_numbers(c);
  // To the end: the release's bytes and numbers, the moments. Writing takes more than fitting (the classes'
  // moments, covariances and factors): factors, the file's payload and its bytes, and, since what is written
  // is read first, the payload and the factors once more.
  std::uint64_t memory = 16 * numbers + 8 * all + 5 * 8 * all;
  for (const features::BlockSpec& spec : block_specs(c)) {
    const features::MomentsSpec* moments = spec.moments();
    if (moments == nullptr || moments->kind == features::MomentLiftKind::kImage ||
        moments->kind == features::MomentLiftKind::kVector)
      continue;
    // A density on a grid instead: each cell's z, the cells' kernel in double and in float, the moments.
    std::uint64_t cells = 1;
    for (std::size_t j = 0; j < dims_of(spec); ++j) cells *= model::grid_side(dims_of(spec));
    memory = 16 * numbers + 3 * 8 * all + cells * (8 * moments_order(*moments) + 12 * cells);
  }
  return memory;
}

/// What a training from the closed form adds on root; the other ranks lack the closed form's own 8 C q^2.
std::uint64_t start_memory(const Config& c, std::uint64_t ranks) {
  const std::uint64_t all = moment_numbers(c), d = c.data.schema.dims(), classes = c.data.schema.classes;
  std::uint64_t order = 0;
  for (const features::BlockSpec& spec : block_specs(c)) {
    if (spec.moments() != nullptr) order = moments_order(*spec.moments());
  }
  // While targets are drawn towards the closed form (moments_start.cpp, credible_target): the closed form and
  // the moments in double; the factors under the network, the noisy target and the closed form's own in
  // float; four differences in double and their result in float.
  const std::uint64_t setup = all * (8 + 8 + 3 * 4 + 4 * 8 + 4);
  // In a step (objective.cpp): the closed form in double; the factors under both networks, target, sums,
  // message and mean in float; the difference in float and, for the loss, three times in double.
  const std::uint64_t step = all * (8 + 6 * 4 + 4 + 3 * 8);
  // The proxy's mean embeddings, of 20 batches and two models, and its frequencies (measure.hpp).
  const std::uint64_t proxy = 4 * c.proxy.features * (2 * 20 * classes + d / 2);
  // Records in the closed form's and the moments' tensors (closed_form_tensors.cpp, moments_embedding.cpp),
  // most of them when the running statistics are settled (trainer.hpp).
  const std::uint64_t records = std::max<std::uint64_t>(c.train.batch, train::kSettlingBatch),
                      batch = records / ranks + 1;
  return std::max(setup, step) + proxy + 4 * batch * (8 * d + 6 * order);
}

MemoryPlan plan_memory(const Config& c, const JobPlan& plan, std::uint64_t ranks, std::uint64_t threads) {
  const std::uint64_t numbers = plan.numbers, d = c.data.schema.dims(), features = c.features.rff.features;
  MemoryPlan m;
  // Each thread's sums and the shard's.
  m.release = 8 * numbers * (threads + 1);
  std::uint64_t maps = 0;
  for (const features::BlockSpec& spec : block_specs(c)) {
    m.release += block_memory(spec, threads);
    maps += 4 * static_cast<std::uint64_t>(numbers_in_map(spec));
  }
  // The shard's sums and the reduced ones, the noise, the released numbers and the file's bytes.
  m.release_root = std::max(m.release, maps + 8 * numbers * 5);
  if (c.model.kind == model::GeneratorKind::kMoments) {
    if (releases(c, "moments")) m.fit_root = fit_memory(c, numbers);
    return m;
  }
  if (!releases(c, "rff")) return m;
  const std::uint64_t batch = (c.train.batch + ranks - 1) / ranks, frequencies = 4 * (features / 2) * d;
  // The artifact and its bytes; target, sums, message and gradient of a step; phases and their gradient;
  // parameters, gradients and Adam's two moments.
  m.train = 2 * frequencies + 16 * numbers + 4 * 4 * features * c.data.schema.classes +
            4 * batch * (features + 4 * d) + 16 * plan.generator_parameters;
  if (c.train.from_moments) m.train += start_memory(c, ranks);
  return m;
}

WirePlan plan_wire(const Config& c, const JobPlan& plan, std::uint64_t ranks) {
  const std::uint64_t classes = c.data.schema.classes;
  const GeneratorSize size = generator_size(trained_generator(c));
  WirePlan w;
  const auto k = static_cast<double>(ranks);
  w.release = 8 * plan.numbers;
  w.release_all = static_cast<double>(w.release) * (k - 1);
  if (!releases(c, "rff") || c.model.kind == model::GeneratorKind::kMoments) return w;
  w.step_embedding = 4 * (classes * c.features.rff.features + classes);
  for (const features::BlockSpec& spec : block_specs(c)) {
    // A class's matrix, both triangles.
    if (!c.train.from_moments || spec.moments() == nullptr) continue;
    w.step_embedding += 4 * classes * moments_order(*spec.moments()) * moments_order(*spec.moments());
  }
  w.step_batch_norm = 8 * (4 * size.normed_features + size.norms);
  w.step_gradients = 4 * size.parameters;
  w.step_per_rank = static_cast<double>(w.step()) * 2 * (k - 1) / k;
  return w;
}

void warn(const Config& c, JobPlan& plan) {
  auto& warnings = plan.warnings;
  const bool replace = c.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  if (!plan.records) {
    warnings.push_back(
        "m is private under add/remove-one adjacency: give --records with a public guess of it to see signal "
        "and noise");
  }
  for (const BlockPlan& b : plan.blocks) {
    if (!plan.records) break;
    const std::string remedy =
        "more records, fewer classes or a larger epsilon help; so do fewer features, as the noise's length "
        "grows with their square root";
    if (b.signal_to_noise_most < 1) {
      warnings.push_back(fmt::format(
          "block {}: the noise dominates whatever the data are: a class's mean embedding is at most {:.3g} "
          "long and its noise {:.3g}; {}",
          b.name, b.signal_most, b.noise_per_class, remedy));
    } else if (b.kernel_where_equal > kDoubtfulKernel) {
      warnings.push_back(fmt::format(
          "block {}: the noise may dominate: a class's mean embedding is longer than its noise only if two "
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
  plan.noise = plan_release(config);
  if (config.data.records > 0) plan.records = static_cast<double>(config.data.records);
  if (guess) plan.records = static_cast<double>(*guess);
  plan.numbers = privacy::length_of(plan.noise.parts);

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
  const std::vector<features::BlockSpec> specs = block_specs(config);
  double flops_per_record = 0.0;
  for (std::size_t b = 0; b < specs.size(); ++b) {
    plan.blocks.push_back(plan_block(config, specs[b], sigma(b), plan.records));
    flops_per_record += flops_of_record(specs[b]);
    // A class's trace counts its records, too.
    if (const features::MomentsSpec* moments = specs[b].moments())
      plan.count_noise = sigma(b) / specs[b].weight * std::sqrt(static_cast<double>(moments_order(*moments)));
  }
  if (config.release_counts) plan.count_noise = sigma(specs.size()) / kCountsWeight;
  if (plan.records) plan.embed_flops = *plan.records * flops_per_record;
  if (releases(config, "rff") && config.model.kind != model::GeneratorKind::kMoments) {
    plan.generator_parameters = generator_size(trained_generator(config)).parameters;
    // Phases, and their gradient.
    plan.step_flops = 2 * static_cast<double>(config.train.batch) *
                      static_cast<double>(config.features.rff.features) *
                      static_cast<double>(config.data.schema.dims());
  }
  plan.memory =
      plan_memory(config, plan, static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(threads));
  plan.wire = plan_wire(config, plan, static_cast<std::uint64_t>(ranks));
  warn(config, plan);
  return plan;
}

}  // namespace muffle::app
