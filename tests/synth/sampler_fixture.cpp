#include "sampler_fixture.hpp"

#include "muffle/model/model_file.hpp"

namespace muffle::test {

model::ModelInfo write_sampler_model(const std::filesystem::path& path, SamplerModel which) {
  model::ModelInfo info;
  if (which == SamplerModel::kImages) {
    info.spec.kind = model::GeneratorKind::kConvolutional;
    info.spec.code = 4;
    info.spec.hidden = {16};
    info.spec.channels = {4, 2};
    info.spec.schema.shape = {1, 8, 8};
    info.spec.schema.classes = 3;
    info.class_share = {0.5, 0.5, 0.0};
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
