#pragma once

#include <vector>

#include "muffle/app/commands.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::app {

/// embed::make_embedder(), with the maps that GPUs can sum on the GPUs if features.device says so.
/// Collective: all ranks choose alike, and root's log says what. @throws DeviceError, ConfigError.
embed::Embedder make_embedder_on_devices(comm::HostComm& comm, const Config& config,
                                         release::ReleasePlan plan);

/// Who trains, and on what.
struct TrainingPlace {
  std::vector<bool> works;  ///< by rank (train.ranks); the others wait
  train::TrainSetup setup;  ///< of this rank; of use only if it trains
};

/// As train.device, train.ranks and runtime.share_gpus say. Collective: all ranks choose alike, and root's
/// log says what. @throws DeviceError, ConfigError.
TrainingPlace place_training(Context& context);

}  // namespace muffle::app
