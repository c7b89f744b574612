#include "sampler_fixture.hpp"

#include <cmath>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/moments_model.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"

namespace muffle::test {
namespace {

/// Fitted to the second moments of 400 random records a class.
model::ModelInfo write_moments_model(const std::filesystem::path& path, SamplerModel which) {
  const bool large = which == SamplerModel::kLargeMomentImages;
  const bool images = large || which == SamplerModel::kMomentImages,
             columns = which == SamplerModel::kMomentColumns;
  model::ModelInfo info;
  info.schema.shape = {2};
  if (images) info.schema.shape = {3, 8, 8};
  if (large) info.schema.shape = {3, 64, 64};
  if (columns) info.schema.shape = {400};
  info.schema.classes = 2;
  if (!images) {
    info.schema.lo = -1.0;
    info.schema.hi = 5.0;
  }
  info.class_share = {0.5, 0.5};
  info.release_hash = "release";
  info.train_hash = "train";
  release::NoisyMoments moments;
  moments.moments = *test::make_moments({{"lift", images    ? "image"
                                                  : columns ? "vector"
                                                            : "fourier"}},
                                        info.schema)
                         ->second_moments();
  const features::Lift& lift = *moments.moments.lift;
  moments.classes = 2;
  moments.order = moments.moments.order();
  moments.noise_diagonal = 0.1;
  moments.noise_off_diagonal = 0.1 / std::sqrt(2.0);
  moments.second.resize(2 * moments.order * moments.order);
  const CounterStream random(1, Stream::kTest);
  std::vector<float> x(lift.dims());
  std::vector<double> z(moments.order, moments.moments.offset);
  for (std::uint64_t i = 0; i < 800; ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(random.uniform(i * x.size() + j));
    lift.forward(x.data(), z.data() + 1);
    double squares = 0;
    for (const double v : z) squares += v * v;
    double* const sum = moments.second.data() + (i % 2) * z.size() * z.size();
    for (std::size_t a = 0; a < z.size(); ++a) {
      for (std::size_t b = 0; b < z.size(); ++b) sum[a * z.size() + b] += z[a] * z[b] / squares;
    }
  }
  const model::MomentsModel fitted = model::fit_moments_model(moments, 0.5);
  info.generator = model::settings_of(fitted);
  model::save_model(path, info, model::content_of(fitted));
  return info;
}

}  // namespace

model::ModelInfo write_sampler_model(const std::filesystem::path& path, SamplerModel which) {
  if (which == SamplerModel::kMomentImages || which == SamplerModel::kMomentColumns ||
      which == SamplerModel::kMomentPlane || which == SamplerModel::kLargeMomentImages)
    return write_moments_model(path, which);
  model::ModelInfo info;
  std::shared_ptr<const model::NetworkSettings> network;
  const bool convolutions = which == SamplerModel::kLargeConvolutions;
  if (which == SamplerModel::kImages || convolutions) {
    const nlohmann::json channels = convolutions ? nlohmann::json{16, 8} : nlohmann::json{4, 2};
    network = test::network("convolutional", {{"code", 4}, {"hidden", {16}}, {"channels", channels}});
    info.schema.shape = {1, 8, 8};
    if (convolutions) info.schema.shape = {1, 32, 32};
    info.schema.classes = 3;
    info.class_share = {0.5, 0.5, 0.0};
    info.counts_released = true;
  } else {
    network = test::network("fully-connected", {{"code", 3}, {"hidden", {16, 16}}});
    info.schema.shape = {2};
    info.schema.classes = 5;
    info.schema.lo = -1.0;
    info.schema.hi = 5.0;
    info.class_share = {0.2, 0.2, 0.2, 0.2, 0.2};
  }
  if (which == SamplerModel::kLargeImages) {
    info.schema.shape = {1, 128, 128};
    info.schema.lo = 0.0;
    info.schema.hi = 255.0;
  }
  info.release_hash = "release";
  info.train_hash = "train";
  info.is_private = which != SamplerModel::kPlane;
  info.generator = network;
  const auto generator = network->build(info.schema, 7, nullptr);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : generator->parameters()) {
    // Untrained weights make nearly equal records; stronger ones make every record visibly its own.
    parameter.mul_(which == SamplerModel::kOverflowing ? 3e37 : 3.0);
  }
  model::save_model(path, info, model::content_of(*generator));
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
