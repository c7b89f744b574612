#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::cluster {

/// What one rank saw of the folder that a job would write to.
struct FolderFacts {
  std::string path;
  std::string filesystem;        ///< "ext4", "nfs", "tmpfs", ... as the kernel names it
  std::uint64_t free_bytes = 0;  ///< for an unprivileged user
  std::string error;             ///< why it cannot be written to; empty: it can
  bool renames = false;          ///< rename replaced a file, and the new content was read back
  bool exclusive = false;        ///< O_CREAT | O_EXCL refused a second creation
  bool syncs_file = false;       ///< fsync of a file succeeded
  bool syncs_folder = false;     ///< fsync of the folder succeeded
  bool locks = false;            ///< flock refused a second holder on this machine
  bool sees_root = false;        ///< rank 0's file appeared here: the folder is shared
  bool respects_lock = false;    ///< flock was refused while rank 0 held the file; only where sees_root
};

/// What one rank knows of itself and its machine. Nothing in it is private. -1 where a limit is unlimited.
struct RankFacts {
  int rank = 0, local_rank = 0, local_size = 1;
  std::string host;
  std::string version;                ///< muffle's
  std::string binary;                 ///< SHA-256 of the executable
  bool cuda = false;                  ///< built with MUFFLE_CUDA
  std::string mpi;                    ///< the MPI library's own line
  std::string libtorch;               ///< file and build of the LibTorch that is loaded
  std::string nccl;                   ///< version of the NCCL that is loaded; empty: built without CUDA
  std::string kernels;                ///< variant of the embedding kernels: "generic", "avx2", "avx512"
  std::string blas, better_blas;      ///< blas_kernels(), better_blas_kernels() of them
  std::string system;                 ///< kernel and processor, as uname says
  std::string launcher;               ///< "mpirun", "srun" or "none"
  std::vector<double> before, after;  ///< wall clock, seconds, around each round of the clock check
  int cores_online = 0;
  std::vector<int> cores;   ///< those that this rank may run on
  double core_quota = 0;    ///< a container's limit in cores; 0: none
  int threads = 1;          ///< that muffle would compute with
  std::string omp_threads;  ///< OMP_NUM_THREADS as found
  std::int64_t open_files = -1, file_bytes = -1, address_bytes = -1, locked_bytes = -1;  ///< soft limits
  std::uint64_t memory_bytes = 0;         ///< available to new processes, a container's limit included
  std::uint64_t shared_memory_bytes = 0;  ///< free in /dev/shm
  int tcp_retries = 0;                    ///< net.ipv4.tcp_retries2; 0: unknown
  double keepalive_s = 0;                 ///< until mpirun's daemons notice a cut link; 0: OpenMPI's default
  bool entropy = false;                   ///< the operating system's entropy source works
  bool gpu_driver = false;                ///< an NVIDIA driver is loaded
  std::vector<std::string> gpus;          ///< UUIDs of the GPUs that this rank may use
  int gpu = -1;                           ///< which of them it would train on; -1: none
  FolderFacts folder;
};

/// What rank 0 measured over all ranks.
struct NetworkFacts {
  bool sums = false;       ///< a reduction of known numbers gave the known sum
  double latency_s = 0;    ///< median all-reduce of 8 bytes
  double large_s = 0;      ///< median all-reduce of 8 MiB of float32
  std::string nccl;        ///< version; empty: not tried (no CUDA build, no GPU, or a check failed)
  std::string nccl_error;  ///< why it failed
};

/// One result. `code` is the exit code that a failure stands for.
struct Finding {
  enum class Level { kOk, kNote, kWarning, kFailure } level = Level::kOk;
  std::string check;       ///< "mpi", "versions", "clocks", "cores", "limits", "memory", "folder", ...
  std::vector<int> ranks;  ///< whom it is about; empty: all
  std::string message;     ///< what was seen
  std::string fix;         ///< what to do about it; empty when all is well
  ExitCode code = ExitCode::kDone;
};

/// Every check, from facts alone, in the order in which they are shown. Facts are by rank, at least one.
std::vector<Finding> examine(const std::vector<RankFacts>& ranks, const NetworkFacts& network);

/// Bounds, in seconds, of (clock of rank a) - (clock of rank b): what the rounds prove, however long messages
/// took. Each round is before/after one collective that no rank leaves until all have entered it, so a's
/// "before" is never later than b's "after".
std::pair<double, double> clock_bounds(const RankFacts& a, const RankFacts& b);

/// The first failure's exit code; kDone if there is none.
ExitCode verdict(const std::vector<Finding>& findings);

/// What `muffle doctor` was asked for.
struct DoctorCommand {
  std::string out = ".";        ///< the folder that a job would write to
  std::string format = "text";  ///< "text" or "json"
  double deadline_s = 60;       ///< every wait for another rank; for a file or a device, half of it
};
/// `muffle doctor`: gathers the facts of all ranks, examines them and prints the findings on rank 0.
/// Collective. Leaves nothing in the folder. @returns the verdict, the same on every rank.
/// @throws CommError  a rank did not answer.
ExitCode doctor(comm::HostComm& comm, const DoctorCommand& command, std::ostream& out);

/// How many threads this rank should compute with: its share of the cores that it and other ranks of its host
/// may run on. Collective.
int cores_of(comm::HostComm& comm);

}  // namespace muffle::cluster
