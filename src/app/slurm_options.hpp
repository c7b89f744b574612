#pragma once

#include <CLI/CLI.hpp>

#include "muffle/app/config.hpp"
#include "muffle/cluster/slurm.hpp"

namespace muffle::app {

/// Adds `muffle slurm` to `app`; its options bear sbatch's names where it has them. `job` must outlive the
/// parsing.
void add_slurm(CLI::App& app, cluster::SlurmJob& job);

/// The batch script of `muffle slurm`, for a configuration that can be read: a mistake is cheaper here than
/// after a day in the queue. @throws UsageError, ConfigError, IoError.
std::string slurm(const cluster::SlurmJob& job, const ConfigSources& sources);

}  // namespace muffle::app
