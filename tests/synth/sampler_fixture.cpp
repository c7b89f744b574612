#include "sampler_fixture.hpp"

#include <map>

#include "muffle/core/files.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "support/generators.hpp"
#include "support/planned_release.hpp"

namespace muffle::test {
namespace {

struct Recipe {
  std::vector<std::size_t> shape;
  std::size_t classes;
  std::string kind;
  nlohmann::json network;                ///< settings
  std::string lift;                      ///< of a closed form
  std::vector<double> class_share = {};  ///< released; empty: equal ones
};

const std::map<SamplerModel, Recipe>& recipes() {
  const nlohmann::json plane{{"code", 3}, {"hidden", {16, 16}}};
  const auto convolutions = [](std::size_t first, std::size_t second) {
    return nlohmann::json{{"code", 4}, {"hidden", {16}}, {"channels", {first, second}}};
  };
  const std::vector<double> uneven{0.5, 0.5, 0.0};
  static const std::map<SamplerModel, Recipe> table{
      {SamplerModel::kImages, {{1, 8, 8}, 3, "convolutional", convolutions(4, 2), "", uneven}},
      {SamplerModel::kLargeConvolutions, {{1, 32, 32}, 3, "convolutional", convolutions(16, 8), "", uneven}},
      {SamplerModel::kPlane, {{2}, 5, "fully-connected", plane, ""}},
      {SamplerModel::kOverflowing, {{2}, 5, "fully-connected", plane, ""}},
      {SamplerModel::kLargeImages, {{1, 128, 128}, 5, "fully-connected", plane, ""}},
      {SamplerModel::kMomentImages, {{3, 8, 8}, 2, "moments", {}, "image"}},
      {SamplerModel::kLargeMomentImages, {{3, 64, 64}, 2, "moments", {}, "image"}},
      {SamplerModel::kMomentColumns, {{400}, 2, "moments", {}, "vector"}},
      {SamplerModel::kMomentPlane, {{2}, 2, "moments", {}, "fourier"}},
      {SamplerModel::kTable, {{4}, 2, "pair-graph", {}, ""}}};
  return table;
}

}  // namespace

model::ModelInfo write_sampler_model(const std::filesystem::path& path, SamplerModel which) {
  const Recipe& recipe = recipes().at(which);
  model::ModelInfo info;
  info.schema = schema_of(recipe.shape, recipe.classes);
  if (!info.schema.is_image()) {
    info.schema.lo = -1.0;
    info.schema.hi = 5.0;
  }
  info.counts_released = !recipe.class_share.empty();
  info.class_share = recipe.class_share;
  info.class_share.resize(recipe.classes, 1.0 / static_cast<double>(recipe.classes));
  info.release_hash = "release";
  info.train_hash = "train";
  info.is_private = which != SamplerModel::kPlane;
  if (which == SamplerModel::kTable) {
    info.schema = table_schema({4, 3, 9, 2}, recipe.classes, 1);
    info.generator = generator(recipe.kind);
    const auto release = random_release(info.schema, make_map("pairs", {}, info.schema), 800);
    model::save_model(path, info, info.generator->closed_form()->fit(release, {}));
    return info;
  }
  if (!recipe.lift.empty()) {
    info.generator = generator(recipe.kind);
    const auto release = random_release(info.schema, make_moments({{"lift", recipe.lift}}, info.schema), 800);
    model::save_model(path, info, info.generator->closed_form()->fit(release, {}));
    return info;
  }
  const auto settings = network(recipe.kind, recipe.network);
  info.generator = settings;
  const auto made = settings->build(info.schema, 7, nullptr);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : made->parameters()) {
    // Untrained weights make nearly equal records; stronger ones make every record visibly its own.
    parameter.mul_(which == SamplerModel::kOverflowing ? 3e37 : 3.0);
  }
  model::save_model(path, info, model::content_of(*made));
  return info;
}

std::vector<float> reference_outputs(const std::filesystem::path& model, std::uint64_t seed,
                                     const std::vector<std::uint8_t>& labels) {
  const model::Model read = model::parse_model(read_file(model), "model");
  const std::size_t dims = read.info.schema.dims();
  std::vector<float> out(labels.size() * dims);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t label = labels[i];
    read.sampler->draw(seed, i, std::span(&label, 1), std::span(out).subspan(i * dims, dims));
  }
  return out;
}

}  // namespace muffle::test
