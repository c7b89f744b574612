#pragma once

namespace muffle {

/// How many threads this process should compute with: the cores it may run on (its affinity mask), divided by
/// the processes that share them when the launcher did not bind, and no more than OMP_NUM_THREADS says, which
/// serves where nobody binds at all. At least 1.
/// @param processes_here  ranks on this machine (1 for a single process).
int owned_cores(int processes_here);

/// Sets OpenMP's (our kernels') and OpenBLAS's thread count for this process. LibTorch is set where it is
/// used (train::set_torch_threads): Debian's build starts with one thread.
void set_compute_threads(int threads);

}  // namespace muffle
