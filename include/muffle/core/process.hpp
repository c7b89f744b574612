#pragma once

#include <string>
#include <string_view>

namespace muffle {

/// A core dump would hold records and exact sums. Where core_pattern pipes dumps to a program, the kernel
/// heeds no limit but 1 (core(5)), less than any dump. Where a limit of 0 may not be raised it must do.
void forbid_core_dumps();

/// Each rank holds descriptors of its machine's other ranks; the usual limit of 1,024 is for select(2) alone.
void allow_many_files();

/// Makes the standard streams safe to write to; call first in main. A closed one is opened on /dev/null: its
/// number would otherwise go to the next file that is opened, a release perhaps, and log lines be written
/// into that. A reader that goes away ends a write with an error instead of the process (SIGPIPE).
void secure_standard_streams() noexcept;

/// Writes out what streams still hold for stdout. False if it could not be written (full disk, reader gone).
bool flush_standard_output() noexcept;

/// Writes a line to stderr without memory, locks or loggers: when nothing else can be relied on.
void last_words(const char* text) noexcept;

/// What a machine and those who started this process say of its cores.
struct CoreFacts {
  int online = 1;    ///< of the machine
  int allowed = 1;   ///< by this process's affinity mask
  double quota = 0;  ///< a container's limit, in cores; 0: none
  int asked = 0;     ///< OMP_NUM_THREADS's first number, by which users and batch scripts say it; 0: nothing
};
CoreFacts core_facts();

/// How many threads this process should compute with: its affinity mask's cores, divided by the processes
/// that share them, no more than its share of a container's limit nor than OMP_NUM_THREADS says. At least 1.
/// @param processes_here  ranks on this machine (1 for a single process).
/// @param same_mask  those of them with this one's affinity_mask(); 0: unknown, as if the launcher bound.
int owned_cores(const CoreFacts& facts, int processes_here, int same_mask = 0);

/// The cores that this process may run on, in a form to be compared: "0,1,5".
std::string affinity_mask();

/// The folder of this process's control group (version 2); empty outside of one.
std::string control_group();
/// A container's limit of processor time in cores, its parents' included; 0: none.
double core_quota();

/// Sets OpenMP's (our kernels') and OpenBLAS's thread count; LibTorch's: train::set_torch_threads.
void set_compute_threads(int threads);

/// Whose kernels OpenBLAS computes by here, as it names them: "SkylakeX", say. Empty: none is loaded.
std::string blas_kernels();
/// What OPENBLAS_CORETYPE should be where OpenBLAS has chosen `kernels`; empty: its choice is right. Before
/// 0.3.25 (Debian 12 has 0.3.21) it takes a processor that it does not know for one of 2004, "Prescott", and
/// computes with less than half the speed (https://github.com/OpenMathLib/OpenBLAS/issues/4267).
std::string better_blas_kernels(std::string_view kernels);
/// Has OpenBLAS compute by better kernels in the program that this process becomes or starts, if it would
/// choose those of 2004 and OPENBLAS_CORETYPE is not set.
void help_blas();

}  // namespace muffle
