#include "muffle/train/measure.hpp"

#include <torch/torch.h>

#include <functional>
#include <utility>

#include "muffle/train/settings.hpp"

namespace muffle::train {

namespace {

using torch::Tensor;

/// Calls use(block's number, mean embedding of a batch, which is its own to keep), batch by batch.
void measure(model::Generator& generator, const std::vector<Matching>& blocks, const Measurement& m,
             model::TensorCollective& collective,
             const std::function<void(std::size_t block, Tensor mean)>& use) {
  const torch::NoGradGuard no_grad;
  const bool was_training = generator.is_training();
  generator.eval();
  const auto rank = static_cast<std::uint64_t>(collective.rank());
  const auto ranks = static_cast<std::uint64_t>(collective.size());
  const std::uint64_t first = rank * m.batch / ranks, last = (rank + 1) * m.batch / ranks;
  for (std::uint64_t g = 0; g < m.batches; ++g) {
    const Tensor codes =
        generator.codes(m.seed, true, kMeasuringSubstream, g * m.batch + first, last - first).to(m.device);
    // Every batch meets the class shares.
    const Tensor labels = model::label_tensor(m.seed, true, kMeasuringSubstream, first, last - first, m.batch,
                                              m.class_share, /*stratified=*/true)
                              .to(m.device);
    const Tensor records = generator.forward(codes, labels);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      Tensor mean = blocks[b].sums(records, labels).contiguous();
      collective.all_reduce_sum(mean);
      collective.wait();  // which has a deadline; whoever looks at the numbers has none
      use(b, mean / static_cast<double>(m.batch));
    }
    beat(m.heartbeat);
  }
  generator.train(was_training);
}

}  // namespace

std::vector<std::vector<Tensor>> mean_embeddings(model::Generator& generator,
                                                 const std::vector<Matching>& blocks, const Measurement& m,
                                                 model::TensorCollective& collective) {
  std::vector<std::vector<Tensor>> out(blocks.size());
  measure(generator, blocks, m, collective,
          [&](std::size_t block, Tensor mean) { out[block].push_back(std::move(mean)); });
  return out;
}

Tensor mean_embedding(model::Generator& generator, const Matching& block, const Measurement& m,
                      model::TensorCollective& collective) {
  Tensor sum;
  measure(generator, {block}, m, collective, [&](std::size_t, Tensor mean) {
    if (sum.defined()) {
      sum += mean;
    } else {
      sum = std::move(mean);
    }
  });
  return sum / static_cast<double>(m.batches);
}

Tensor average(const std::vector<Tensor>& batches) {
  Tensor sum = batches.front().clone();
  for (std::size_t i = 1; i < batches.size(); ++i) sum += batches[i];
  return sum / static_cast<double>(batches.size());
}

}  // namespace muffle::train
