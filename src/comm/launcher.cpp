#include "muffle/comm/launcher.hpp"

#include <algorithm>
#include <cstdlib>

namespace muffle::comm {

bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

int launched_processes() {
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::atoi(text);
  };
  // The innermost launcher counts: mpirun in a Slurm job starts its daemons as a step of the job, whose
  // variables the ranks inherit. Slurm's own count only in a step; a batch script has SLURM_NTASKS alone.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const int size = number(name); size > 0) return size;
  }
  const bool in_step = std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("SLURM_PROCID") != nullptr;
  return in_step ? std::max(1, number("SLURM_STEP_NUM_TASKS")) : 1;
}

}  // namespace muffle::comm
