#pragma once

#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/trainer.hpp"

// The training step that the benchmarks time: the papers' size, D = 10,000, 28 x 28 images, 10 classes, the
// convolutional generator.
namespace muffle::bench {

inline constexpr std::int64_t kClasses = 10, kHalf = 5000, kDims = 784;

inline torch::Tensor normal(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream stream(1, Stream::kTest, substream);
  torch::Tensor t = torch::empty(shape);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<float>()[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  return t;
}

struct TrainStep {
  std::unique_ptr<model::GeneratorSettings> generator = model::make_generator_settings("convolutional");
  const model::NetworkSettings& network = *generator->network();
  schema::Schema schema{.shape = {1, 28, 28}, .classes = kClasses};
  train::TrainSpec spec;
  torch::Tensor frequencies = normal({kHalf, kDims}, 1) / (2 * M_PI * std::sqrt(127.0));
  torch::Tensor target = normal({kClasses, 2 * kHalf}, 2) * 1e-3;
  std::vector<double> class_share = std::vector<double>(kClasses, 1.0 / kClasses);

  explicit TrainStep(std::size_t batch) { spec.batch = batch; }

  train::DataParallel on(torch::Device device, std::shared_ptr<model::TensorCollective> collective) const {
    const model::FourierEmbedding embedding(frequencies.to(device), kClasses);
    return {
        network,
        schema,
        spec,
        {{{[embedding](const torch::Tensor& x, const torch::Tensor& y) { return embedding.class_sums(x, y); },
           target.to(device), std::vector<double>(kClasses, 1.0)}},
         class_share,
         device},
        std::move(collective)};
  }
};

}  // namespace muffle::bench
