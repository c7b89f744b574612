#include <algorithm>

#include "config_keys.hpp"
#include "muffle/core/error.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::app {

namespace {

void check_blocks(const Config& c, std::vector<std::string>& out) {
  const auto& blocks = c.features.blocks;
  for (const std::string& name : blocks) {
    if (std::count(blocks.begin(), blocks.end(), name) > 1) {
      out.push_back("features.blocks names \"" + name + "\" twice");
      return;
    }
  }
  if (blocks.empty()) out.emplace_back("features.blocks is empty: nothing would be released");
  if (releases(c, "rff")) {
    if (c.features.rff.features < 2 || c.features.rff.features % 2 != 0)
      out.emplace_back("features.count is required, and must be even: a cosine and a sine for each frequency");
    if (!(c.features.rff.length_scale > 0)) out.emplace_back("features.length_scale must be above 0");
  }
  try {
    for (const features::BlockSpec& spec : block_specs(c)) (void)bound_of(spec);
  } catch (const ConfigError& e) {
    std::string text = e.what();
    while (text.ends_with('.')) text.pop_back();
    out.push_back("[moments]: " + text);
  }
}

}  // namespace

std::vector<std::string> contradictions(const Config& c) {
  std::vector<std::string> out;
  const auto unless = [&](bool good, std::string problem) {
    if (!good) out.push_back(std::move(problem));
  };
  const auto& schema = c.data.schema;
  unless(
      schema.shape.size() == 1 || schema.shape.size() == 3,
      "data.shape needs 3 numbers for images, [channels, height, width], or 1 for plain records, [columns]");
  unless(schema.lo < schema.hi, "data.lo must be below data.hi");
  unless(!c.data.features.empty(), "data.features names no file with records");
  const bool cifar = c.data.format == data::Format::kCifar;
  unless(!c.data.labels.empty() || schema.classes == 1 || cifar,
         "data.labels names no file, but data.classes is above 1");
  unless(c.data.labels.empty() || !cifar,
         "data.labels names a file, but data.format = \"cifar\" has the labels beside the records");
  const bool per_rank = c.data.shards == data::ShardRule::kPerRank;
  unless((c.data.features.find("{rank}") != std::string::npos) == per_rank,
         "data.shards = \"per-rank\" and \"{rank}\" in data.features go together: one is there without the "
         "other");
  unless(c.privacy.adjacency != privacy::Adjacency::kReplaceOne || c.data.records > 0,
         "data.records is required under replace-one adjacency: m is public, so write it down");
  const bool counted = c.release_counts || releases(c, "moments");
  unless(c.privacy.adjacency != privacy::Adjacency::kAddRemoveOne || counted,
         "privacy.adjacency = \"add-remove-one\" keeps m secret, so the means need privacy.release_counts = "
         "true (or the block \"moments\", whose trace counts the records)");
  unless(c.privacy.adjacency != privacy::Adjacency::kAddRemoveOne || c.data.records == 0,
         "privacy.adjacency = \"add-remove-one\" keeps m secret, and everything in the configuration is "
         "public: leave "
         "data.records at 0");
  unless(c.ledger.data_id.empty() || privacy::is_data_id(c.ledger.data_id),
         "data.id names the data set in files: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
         "with a letter "
         "or digit");
  // A budget binds only if every release of the data set is written down in one place.
  unless(!c.ledger.budget_epsilon || (!c.ledger.data_id.empty() && !c.ledger.file.empty()),
         "privacy.budget_epsilon needs data.id and privacy.ledger: name the data set, and the one file, "
         "beside the data, "
         "in which every release of it is written down");
  const double budget = c.ledger.budget_epsilon.value_or(1.0), delta = c.ledger.budget_delta;
  unless(budget >= privacy::kMinEpsilon && budget <= privacy::kMaxEpsilon,
         "privacy.budget_epsilon must be from 0.001 to 100");
  unless(delta >= privacy::kMinDelta && delta <= privacy::kMaxDelta,
         "privacy.budget_delta must be from 1e-12 to 0.1");
  const auto& aggregation = c.aggregation;
  unless(!aggregation.distributed || aggregation.secure,
         "privacy.distributed_noise needs privacy.secure_aggregation = true: without masks the ranks' shares "
         "are seen one by one, and each is less than the full noise");
  unless(aggregation.site_key.empty() == aggregation.site_roster.empty(),
         "privacy.site_key and privacy.site_roster go together: one is there without the other");
  unless(aggregation.site_key.empty() || aggregation.secure,
         "privacy.site_key signs masks, so it needs privacy.secure_aggregation = true");
  unless(c.sample.uniform_labels || counted,
         "sample.labels = \"released-counts\" needs privacy.release_counts = true (or the block \"moments\")");
  check_blocks(c, out);
  unless(c.train.learning_rate > 0, "train.learning_rate must be above 0");
  unless(c.train.decay > 0 && c.train.decay <= 1, "train.decay must be in (0, 1]");
  unless(c.runtime.deadline_s > 0 && c.runtime.deadline_s <= 1e6,
         "runtime.deadline_s must be above 0 and at most 1e6");
  unless(!c.sample.formats.empty(), "sample.formats is empty: nothing would be written");
  const auto& metrics = c.evaluate.metrics;
  unless(metrics.empty() ||
             std::find(c.sample.formats.begin(), c.sample.formats.end(), "npz") != c.sample.formats.end(),
         "evaluate reads samples.npz: add \"npz\" to sample.formats, or set evaluate.metrics = []");
  unless(c.model.kind == model::GeneratorKind::kFullyConnected || schema.is_image(),
         "model.generator = \"convolutional\" draws images; for plain records use \"fully-connected\"");
  return out;
}

}  // namespace muffle::app
