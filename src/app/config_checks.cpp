#include "config_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "generator_size.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/grid_density.hpp"
#include "muffle/model/moments_model.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::app {
namespace {

/// Longest release.mfl and model.mfl that their readers accept, less a megabyte for the header.
constexpr std::uint64_t kMostFileBytes = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 20);
constexpr std::size_t kMostHidden = 64;  // in a model file

using settings::Problems;
using Maps = std::vector<features::NamedMap>;

/// Noisy class sizes are part of the release.
bool counted(const Config& c, const Maps& maps) {
  return c.release_counts ||
         std::any_of(maps.begin(), maps.end(), [](const auto& m) { return m.map->counts_inside(); });
}

/// Second moments from which a generator can be made; null: none.
const features::FeatureMap* moments_of(const Maps& maps) {
  for (const features::NamedMap& m : maps) {
    if (m.role == features::MapRole::kMatch && m.map->has_second_moments()) return m.map.get();
  }
  return nullptr;
}

void check_records(const Config& c, const Maps& maps, Problems& p) {
  data::problems(c.data, p);
  const bool replace = c.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  p.unless(!replace || c.data.records > 0,
           "data.records is required under replace-one adjacency: m is public, so write it down");
  p.unless(
      replace || counted(c, maps),
      "privacy.adjacency = \"add-remove-one\" keeps m secret, so the means need privacy.release_counts = "
      "true (or a map with kind = \"moments\", whose trace counts the records)");
  p.unless(replace || c.data.records == 0,
           "privacy.adjacency = \"add-remove-one\" keeps m secret, and everything in the configuration is "
           "public: leave data.records at 0");
}

void check_ledger(const Config& c, Problems& p) {
  p.unless(c.ledger.data_id.empty() || privacy::is_data_id(c.ledger.data_id),
           "data.id names the data set in files: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
           "with a letter or digit");
  // A budget binds only if every release of the data set is written down in one place.
  p.unless(!c.ledger.budget_epsilon || (!c.ledger.data_id.empty() && !c.ledger.file.empty()),
           "privacy.budget_epsilon needs data.id and privacy.ledger: name the data set, and the one file, "
           "beside the data, in which every release of it is written down");
  // A relative path means another ledger, with nothing spent, in every folder that a job is started in.
  p.unless(
      !c.ledger.budget_epsilon || c.ledger.file.empty() || std::filesystem::path(c.ledger.file).is_absolute(),
      "privacy.ledger must be an absolute path where privacy.budget_epsilon is set: from another working "
      "folder a relative one is another ledger, with nothing spent");
  const double budget = c.ledger.budget_epsilon.value_or(1.0);
  p.unless(budget >= privacy::kMinEpsilon && budget <= privacy::kMaxEpsilon,
           "privacy.budget_epsilon must be from 0.001 to 100");
}

void check_aggregation(const Config& c, Problems& p) {
  const auto& aggregation = c.aggregation;
  p.unless(
      !aggregation.distributed || aggregation.secure,
      "privacy.distributed_noise needs privacy.secure_aggregation = true: without masks the ranks' shares "
      "are seen one by one, and each is less than the full noise");
  // Records that a shared file's rule deals out move from rank to rank when one comes or goes: then the
  // neighbours differ in a curious rank's own records, too, which theorem 2 does not cover.
  p.unless(
      !aggregation.distributed || c.privacy.adjacency == privacy::Adjacency::kReplaceOne ||
          c.data.shards == data::ShardRule::kPerRank,
      "privacy.distributed_noise under add-remove-one adjacency needs data.shards = \"per-rank\": in a file "
      "that the ranks share, one record more moves others from rank to rank, also to and from those that "
      "may collude");
  p.unless(aggregation.site_key.empty() == aggregation.site_roster.empty(),
           "privacy.site_key and privacy.site_roster go together: one is there without the other");
  p.unless(aggregation.site_key.empty() || aggregation.secure,
           "privacy.site_key signs masks, so it needs privacy.secure_aggregation = true");
}

void check_maps(const Config& c, const Maps& maps, Problems& p) {
  std::uint64_t numbers = c.release_counts ? 1 : 0;
  for (const features::NamedMap& m : maps) numbers += m.map->features();
  p.unless(
      numbers * c.data.schema.classes * sizeof(std::int64_t) <= kMostFileBytes,
      fmt::format("{} features x {} classes are more numbers than a release file holds, {} MB: use fewer "
                  "features (count or coefficients of the maps)",
                  numbers, c.data.schema.classes, kMostFileBytes / 1'000'000));
  for (const features::NamedMap& proxy : maps) {
    if (proxy.role != features::MapRole::kProxy) continue;
    for (const features::NamedMap& other : maps)
      p.unless(
          &other == &proxy || other.map->kind() != proxy.map->kind() ||
              other.map->to_json() != proxy.map->to_json(),
          fmt::format(
              "map.{} and map.{} are the same map: a proxy needs features of its own, such as another seed",
              proxy.name, other.name));
  }
}

void check_training(const Config& c, Problems& p) {
  p.unless(!c.model.hidden.empty() && c.model.hidden.size() <= kMostHidden,
           fmt::format("model.hidden needs 1 to {} widths", kMostHidden));
  const bool convolutional = c.model.kind == model::GeneratorKind::kConvolutional;
  p.unless(!c.train.from_moments || c.model.kind != model::GeneratorKind::kMoments,
           "train.init = \"moments\" trains a network from the closed form on, so model.generator must be "
           "\"convolutional\" or \"fully-connected\"; the closed form itself needs no training");
  p.unless(
      c.train.from_moments || !c.train.keep_trained,
      "train.keep = \"trained\" is said of a training with train.init = \"moments\": others have no choice");
  p.unless(convolutional ? c.model.channels.size() == 2 : c.model.channels.size() <= 2,
           "model.channels needs 2 numbers: after the linear part, and between the convolutions");
}

/// The closed form's file, of laws with full covariances, can be read again.
void check_closed_size(const Config& c, const features::SecondMoments& moments, Problems& p) {
  p.unless(
      model::moments_model_bytes(moments.order(), c.data.schema.classes) <= kMostFileBytes,
      fmt::format(
          "the coefficients of the second moments and data.classes make a closed form that is larger than a "
          "model file, {} MB: use fewer coefficients",
          kMostFileBytes / 1'000'000));
}

/// What the closed form needs of the release and the records.
void check_closed_form(const Config& c, const Maps& maps, Problems& p) {
  const features::FeatureMap* const map = moments_of(maps);
  p.unless(map != nullptr,
           "model.generator = \"moments\" is made of second moments: add a map with kind = \"moments\"");
  if (map == nullptr) return;
  const features::SecondMoments& moments = *map->second_moments();
  p.unless(moments.lift->affine() != nullptr || c.data.schema.dims() <= model::kMaxGridDims,
           fmt::format("model.generator = \"moments\" draws from a grid where the lift is \"{}\": records "
                       "can have at most "
                       "{} numbers; use \"vector\" or \"image\"",
                       moments.lift->kind(), model::kMaxGridDims));
  if (moments.lift->affine() != nullptr) check_closed_size(c, moments, p);
}

/// What a training needs that starts from the closed form.
void check_start(const Config& c, const Maps& maps, Problems& p) {
  const features::FeatureMap* const map = moments_of(maps);
  const bool trained = std::any_of(maps.begin(), maps.end(), [](const auto& m) {
    return m.role == features::MapRole::kMatch && !m.map->has_second_moments();
  });
  const bool proxy = std::any_of(maps.begin(), maps.end(),
                                 [](const auto& m) { return m.role == features::MapRole::kProxy; });
  p.unless(map != nullptr && trained && proxy,
           "train.init = \"moments\" needs three feature maps: one with kind = \"moments\", what it starts "
           "from, another that it "
           "is trained on, such as \"rff\", and one with role = \"proxy\", which decides which of the two "
           "models is kept");
  if (map == nullptr) return;
  const features::SecondMoments& moments = *map->second_moments();
  p.unless(moments.lift->affine() != nullptr,
           "train.init = \"moments\" starts from moments whose lift is \"image\" or \"vector\": the others "
           "have no "
           "closed form that a network could be added to");
  if (moments.lift->affine() != nullptr) check_closed_size(c, moments, p);
}

/// What a generator needs of the records that it is to resemble.
void check_generator(const Config& c, const Maps& maps, Problems& p) {
  if (c.model.kind == model::GeneratorKind::kMoments) return check_closed_form(c, maps, p);
  if (c.train.from_moments) check_start(c, maps, p);
  const auto& schema = c.data.schema;
  const bool convolutional = c.model.kind == model::GeneratorKind::kConvolutional;
  p.unless(!convolutional || schema.is_image(),
           "model.generator = \"convolutional\" draws images; for plain records use \"fully-connected\"");
  p.unless(!convolutional || !schema.is_image() || (schema.shape[1] % 4 == 0 && schema.shape[2] % 4 == 0),
           "model.generator = \"convolutional\" doubles its image twice, so height and width in data.shape "
           "must be multiples of 4; for others use \"fully-connected\"");
  if (convolutional && (!schema.is_image() || c.model.channels.size() != 2)) return;
  if (c.train.from_moments && moments_of(maps) == nullptr) return;
  p.unless(generator_size(trained_generator(c)).parameters <= kMostFileBytes / sizeof(float),
           fmt::format("model.code, model.hidden and model.channels make a generator that is larger than a "
                       "model file, {} MB: use fewer or smaller layers",
                       kMostFileBytes / 1'000'000));
}

}  // namespace

std::vector<std::string> contradictions(const Config& c, const Stages& stages) {
  Problems p;
  const bool scores = stages.evaluate && c.evaluate.reads_real_records();
  const bool sized = (stages.release || scores) && data::schema_problems(c.data.schema, p);
  Maps maps;
  bool mapped = false;
  if (stages.release && sized) {
    p.unless(!c.features.maps.empty(),
             "there is no feature map, so nothing would be released: write a section such as [map.rff], with "
             "kind = \"rff\"");
    p.check("", [&] {
      maps = c.features.resolved(c.data.schema);
      mapped = !maps.empty();
    });
  }
  if (stages.release) {
    check_records(c, maps, p);
    check_ledger(c, p);
    check_aggregation(c, p);
    if (mapped) check_maps(c, maps, p);
  }
  if (stages.train) check_training(c, p);
  if (stages.sample) synth::problems(c.sample, sample_formats(), p);
  if (stages.evaluate) evaluate::problems(c.evaluate, c.data, stages.release, p);
  // How the stages go together. By itself a later stage takes the sizes from the file that it reads.
  if (!stages.release || !mapped) return p.take();
  if (stages.train) check_generator(c, maps, p);
  if (stages.sample) {
    synth::problems(c.sample, c.data.schema, sample_formats(), p);
    p.unless(c.sample.uniform_labels || counted(c, maps),
             "sample.labels = \"released-counts\" needs privacy.release_counts = true (or a map with "
             "kind = \"moments\")");
  }
  if (stages.sample && stages.evaluate)
    evaluate::sample_problems(c.evaluate, c.data.schema, c.sample.count, c.sample.formats, p);
  // The accountant knows its own domain: ask it.
  if (p.empty()) p.check("[privacy]: ", [&] { plan_release(c); });
  return p.take();
}

}  // namespace muffle::app
