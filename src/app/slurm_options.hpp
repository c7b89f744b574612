#pragma once

#include <CLI/CLI.hpp>

#include "muffle/app/slurm.hpp"

namespace muffle::app {

/// Adds `muffle slurm` to `app`; its options bear sbatch's names where it has them. `job` must outlive the
/// parsing.
void add_slurm(CLI::App& app, SlurmJob& job);

}  // namespace muffle::app
