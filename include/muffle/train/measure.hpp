#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/train/objective.hpp"

namespace muffle::train {

/// Samples of one batch, and how many batches: each is an estimate of its own, whose spread tells the error.
struct Measurement {
  std::uint64_t seed = 1;
  std::uint64_t batch = 1000, batches = 20;
  std::vector<double> class_share;
  torch::Device device = torch::kCPU;
  Heartbeat heartbeat = {};  ///< after each batch, on every rank
};

/// The mean embeddings of a generator in evaluation mode, block by block, of each batch: C x D. The codes are
/// a function of (seed, sample index) alone, so two generators with codes of the same length are measured on
/// the same codes, and most of the sampling error cancels in their difference. Collective; the ranks share
/// the samples.
/// @returns [block][batch]
std::vector<std::vector<torch::Tensor>> mean_embeddings(model::Generator& generator,
                                                        const std::vector<Matching>& blocks,
                                                        const Measurement& measurement,
                                                        model::TensorCollective& collective);

/// The same of one block, over all batches, of which it holds two at a time: C x D may be large.
torch::Tensor mean_embedding(model::Generator& generator, const Matching& block,
                             const Measurement& measurement, model::TensorCollective& collective);

/// The mean of a block's batches.
torch::Tensor average(const std::vector<torch::Tensor>& batches);

}  // namespace muffle::train
