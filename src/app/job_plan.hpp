#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"
#include "muffle/privacy/release.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::app {

/// Signal and noise of one map's mean embedding mu~ = S~ / m, in units of the features. The signal's upper
/// bound is public: a class with share p has ||mu_c|| <= p B, reached if all its records were alike. How far
/// below it stays is private: ||mu_c||^2 = p^2 kappa, kappa the mean of the kernel over pairs of the class's
/// records. So the plan says which kappa the data need.
struct MapPlan {
  std::string name;
  std::size_t features = 0;  ///< D_b
  double norm = 1.0;         ///< B, the map's weight included
  double weight = 1.0;
  double signal_most = 0.0;           ///< p B for balanced classes, p = 1 / C
  double noise_per_number = 0.0;      ///< sigma / m
  double noise_per_class = 0.0;       ///< sigma sqrt(D) / m: expected norm of a column's noise
  double noise_norm = 0.0;            ///< sigma sqrt(D C) / m: of the whole map
  double signal_to_noise_most = 0.0;  ///< signal_most / noise_per_class
  double kernel_where_equal = 0.0;    ///< kappa at which a class's signal is as long as its noise
};

struct JobPlan {
  privacy::NoisePlan noise;
  std::uint64_t numbers = 0;          ///< length of the released vector
  std::optional<double> records;      ///< m, or the guess of it
  std::vector<MapPlan> maps;          ///< without m: no signal and noise
  std::optional<double> count_noise;  ///< counts, or the moments' traces: standard deviation in records
  train::Cost cost;                   ///< of the model that is made of the release
  // Bytes that one rank needs at once: the large arrays, not the process's base of some 100 MB.
  std::uint64_t release_memory = 0;       ///< every rank while it embeds
  std::uint64_t release_root_memory = 0;  ///< the coordinator while it adds the noise and writes
  // Payloads in bytes. A reduce sends each rank's payload once; a ring all-reduce sends and receives 2
  // (K-1)/K of the payload on every rank.
  std::uint64_t release_wire = 0;  ///< reduce of 64-bit sums
  double release_wire_all = 0.0;   ///< what all ranks send in one release
  std::uint64_t step_wire = 0;     ///< all all-reduces of a step
  double step_wire_per_rank = 0.0;
  std::optional<double> embed_flops;  ///< all ranks together
  std::vector<std::string> warnings;
};

/// @param guess  of m, where the configuration has none.
JobPlan plan_job(const Config& config, int ranks, int threads, std::optional<std::uint64_t> guess);

}  // namespace muffle::app
