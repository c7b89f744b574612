#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::app {

struct JobPlan {
  privacy::NoisePlan noise;
  std::uint64_t numbers = 0;      ///< length of the released vector
  std::optional<double> records;  ///< m, or the guess of it
  std::vector<release::MapForecast> maps;
  std::optional<double> count_noise;  ///< counts, or the moments' traces: standard deviation in records
  release::Cost release;
  train::Cost train;                  ///< of the model that is made of the release
  std::optional<double> embed_flops;  ///< all ranks together
  std::vector<std::string> warnings;
};

/// @param guess  of m, where the configuration has none.
JobPlan plan_job(const Config& config, int ranks, int threads, std::optional<std::uint64_t> guess);

}  // namespace muffle::app
