#pragma once

#include <string>
#include <vector>

#include "muffle/comm/gpu_choice.hpp"

namespace muffle::cluster {

/// A job for Slurm, as `muffle slurm` is asked for it.
struct SlurmJob {
  /// "whole" (muffle run), "embed" (the release alone, on CPUs), "train" (training and sampling of a release
  /// that is there), or "seeds" (an array: one training a seed, all of the one release).
  std::string kind = "whole";
  std::string launcher = "srun";  ///< "srun" (with pmix: can be preempted) or "mpirun"
  std::string name = "muffle";
  std::string config = "configs/fashion-mnist.toml";
  std::string out = "out/fashion-mnist";
  std::vector<std::string> set;   ///< "section.key=value", handed on
  std::string muffle = "muffle";  ///< the binary, as the nodes see it
  int nodes = 2;
  int ranks_per_node = 4;
  int cores_per_rank = 8;
  int gpus_per_node = 0;                   ///< 0: none asked for
  std::string time = "01:00:00";           ///< as sbatch reads it
  int grace_s = 120;                       ///< the ranks are told to stop so long before the time is over
  std::string seeds = "1-5";               ///< of kind "seeds": as sbatch reads --array
  std::string partition, account, memory;  ///< empty: the site's defaults
};

/// What a configuration wants of GPUs.
struct GpuUse {
  comm::DeviceWish embed = comm::DeviceWish::kCpu, train = comm::DeviceWish::kAuto;
  comm::RankWish train_ranks;
  bool share_gpus = false;
  bool trains = true;  ///< false: what train.device means is not used, as with a closed form
};

/// The batch script. The files in cluster/ are what it makes of the defaults.
/// @param use  what choose_gpus() would refuse hours later is refused now
/// @throws UsageError  naming every field that sbatch would read as something else.
std::string slurm_script(const SlurmJob& job, const GpuUse& use);

}  // namespace muffle::cluster
