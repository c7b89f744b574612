#pragma once

#include <cstdint>

#include "muffle/model/generator_kind.hpp"
#include "muffle/release/plan.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::train {

/// What making a model of a release takes, for `muffle plan`. All 0 where nothing can be made of it.
struct Cost {
  std::uint64_t parameters = 0;  ///< of the trained network; 0: none is trained
  double step_flops = 0.0;       ///< the maps' part of a step, all ranks together
  // Bytes at once: the large arrays.
  std::uint64_t fit_root = 0;  ///< the coordinator while it fits a closed form and writes it
  std::uint64_t memory = 0;    ///< a training, every rank; the coordinator's, where it has the most
  // Bytes that are all-reduced in a step.
  std::uint64_t step_embedding = 0;   ///< the batch's C x D float32 sums of all maps, and C counts
  std::uint64_t step_batch_norm = 0;  ///< moments, forward and backward
  std::uint64_t step_gradients = 0;
};

Cost cost(const release::ReleasePlan& plan, const model::GeneratorSettings& generator, const TrainSpec& spec,
          std::uint64_t ranks);

}  // namespace muffle::train
