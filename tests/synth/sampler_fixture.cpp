#include "sampler_fixture.hpp"

#include <cmath>

#include "muffle/core/philox.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/moments_model.hpp"

namespace muffle::test {
namespace {

/// Fitted to the second moments of 400 random records a class.
model::ModelInfo write_moments_model(const std::filesystem::path& path, SamplerModel which) {
  const bool large = which == SamplerModel::kLargeMomentImages;
  const bool images = large || which == SamplerModel::kMomentImages,
             columns = which == SamplerModel::kMomentColumns;
  model::ModelInfo info;
  info.spec.kind = model::GeneratorKind::kMoments;
  info.spec.schema.shape = {2};
  if (images) info.spec.schema.shape = {3, 8, 8};
  if (large) info.spec.schema.shape = {3, 64, 64};
  if (columns) info.spec.schema.shape = {400};
  info.spec.schema.classes = 2;
  if (!images) {
    info.spec.schema.lo = -1.0;
    info.spec.schema.hi = 5.0;
  }
  info.class_share = {0.5, 0.5};
  info.release_hash = "release";
  info.train_hash = "train";
  features::MomentsSpec spec;
  spec.kind = images    ? features::MomentLiftKind::kImage
              : columns ? features::MomentLiftKind::kVector
                        : features::MomentLiftKind::kFourier;
  spec.shape = info.spec.schema.shape;
  const features::MomentLift lift(spec);
  release::NoisyMoments moments;
  moments.classes = 2;
  moments.order = lift.order();
  moments.spec = lift.spec();
  moments.noise_diagonal = 0.1;
  moments.noise_off_diagonal = 0.1 / std::sqrt(2.0);
  moments.second.resize(2 * lift.order() * lift.order());
  const CounterStream random(1, Stream::kTest);
  std::vector<float> x(lift.dims());
  std::vector<double> z(lift.order(), lift.spec().offset);
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
  model::save_moments_model(path, model::fit_moments_model(moments, info));
  return info;
}

}  // namespace

model::ModelInfo write_sampler_model(const std::filesystem::path& path, SamplerModel which) {
  if (which == SamplerModel::kMomentImages || which == SamplerModel::kMomentColumns ||
      which == SamplerModel::kMomentPlane || which == SamplerModel::kLargeMomentImages)
    return write_moments_model(path, which);
  model::ModelInfo info;
  const bool convolutions = which == SamplerModel::kLargeConvolutions;
  if (which == SamplerModel::kImages || convolutions) {
    info.spec.kind = model::GeneratorKind::kConvolutional;
    info.spec.code = 4;
    info.spec.hidden = {16};
    info.spec.channels = {4, 2};
    info.spec.schema.shape = {1, 8, 8};
    if (convolutions) {
      info.spec.channels = {16, 8};
      info.spec.schema.shape = {1, 32, 32};
    }
    info.spec.schema.classes = 3;
    info.class_share = {0.5, 0.5, 0.0};
    info.counts_released = true;
  } else {
    info.spec.kind = model::GeneratorKind::kFullyConnected;
    info.spec.code = 3;
    info.spec.hidden = {16, 16};
    info.spec.channels = {};
    info.spec.schema.shape = {2};
    info.spec.schema.classes = 5;
    info.spec.schema.lo = -1.0;
    info.spec.schema.hi = 5.0;
    info.class_share = {0.2, 0.2, 0.2, 0.2, 0.2};
  }
  if (which == SamplerModel::kLargeImages) {
    info.spec.schema.shape = {1, 128, 128};
    info.spec.schema.lo = 0.0;
    info.spec.schema.hi = 255.0;
  }
  info.release_hash = "release";
  info.train_hash = "train";
  info.is_private = which != SamplerModel::kPlane;
  const auto generator = model::make_generator(info.spec, 7, nullptr);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : generator->parameters()) {
    // Untrained weights make nearly equal records; stronger ones make every record visibly its own.
    parameter.mul_(which == SamplerModel::kOverflowing ? 3e37 : 3.0);
  }
  model::save_model(path, info, *generator);
  return info;
}

std::vector<float> reference_outputs(const std::filesystem::path& model, std::uint64_t seed,
                                     const std::vector<std::uint8_t>& labels) {
  const torch::NoGradGuard no_grad;
  const auto [info, generator] = model::load_model(model);
  std::vector<float> out;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto z = model::latent_codes(seed, false, 0, i, 1, info.spec.code);
    const auto x = generator->forward(z, torch::full({1}, labels[i], torch::kInt64)).contiguous();
    out.insert(out.end(), x.data_ptr<float>(), x.data_ptr<float>() + x.numel());
  }
  return out;
}

}  // namespace muffle::test
