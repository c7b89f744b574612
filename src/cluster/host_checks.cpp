#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "facts.hpp"

namespace muffle::cluster {
namespace {

/// The host and UUID of the GPU that a rank would use; empty: it has none.
std::string gpu_of(const RankFacts& f) {
  if (f.gpu < 0 || static_cast<std::size_t>(f.gpu) >= f.gpus.size()) return "";
  return f.host + " " + f.gpus[static_cast<std::size_t>(f.gpu)];
}

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

}  // namespace

void check_cores(const Facts& ranks, Findings& out) {
  std::set<int> crowded;
  std::map<std::string, int> wanted, offered;
  for (const RankFacts& f : ranks) {
    wanted[f.host] += f.threads;
    offered[f.host] = std::max(offered[f.host], f.cores_online);
  }
  for (const RankFacts& a : ranks) {
    if (static_cast<std::size_t>(a.threads) > a.cores.size()) crowded.insert(a.rank);
    for (const RankFacts& b : ranks) {
      // Two bound ranks on the same cores, that do not have the whole machine to move about in.
      if (a.rank < b.rank && a.host == b.host && a.cores == b.cores &&
          static_cast<int>(a.cores.size()) < a.cores_online &&
          static_cast<int>(a.cores.size()) < a.threads + b.threads) {
        crowded.insert(a.rank);
        crowded.insert(b.rank);
      }
    }
  }
  out.warn("cores", std::vector<int>(crowded.begin(), crowded.end()),
           "more threads than cores: several ranks are bound to the same cores, or a rank to fewer than it "
           "has threads",
           "bind each rank to cores of its own: launch/mpirun.sh --threads T, or srun --cpus-per-task=T "
           "--cpu-bind=cores");
  for (const auto& [host, n] : wanted) {
    if (n > offered[host]) {
      out.warn("cores", ranks_where(ranks, [&, name = host](const RankFacts& f) { return f.host == name; }),
               fmt::format("host {} has {} cores for {} threads", host, offered[host], n),
               "start fewer ranks there, or set runtime.threads");
    }
  }
  out.warn(
      "cores",
      ranks_where(ranks,
                  [&](const RankFacts& f) { return f.core_quota > 0 && f.core_quota < 0.99 * f.threads; }),
      "a container's limit gives less time than the threads would use",
      "raise the container's cpu limit, or set runtime.threads to it");
  const auto threads = [](const RankFacts& f) { return fmt::format("{} of {}", f.threads, f.cores_online); };
  out.ok_unless_said("cores", fmt::format("threads a rank, of its host's cores: {}", groups(ranks, threads)));
}

void check_limits(const Facts& ranks, Findings& out) {
  constexpr std::int64_t kFiles = 256;
  const auto files =
      ranks_where(ranks, [](const RankFacts& f) { return f.open_files >= 0 && f.open_files < kFiles; });
  out.warn("limits", files, fmt::format("fewer than {} files may be open", kFiles),
           "raise it: ulimit -n 4096, or LimitNOFILE of slurmd's unit");
  const auto sizes = ranks_where(ranks, [](const RankFacts& f) { return f.file_bytes >= 0; });
  out.warn("limits", sizes, "the size of files is limited: a release or checkpoint may be cut off",
           "ulimit -f unlimited");
  const auto address = ranks_where(ranks, [](const RankFacts& f) { return f.address_bytes >= 0; });
  out.warn("limits", address,
           "address space is limited; MPI, CUDA and LibTorch reserve far more than they use",
           "ulimit -v unlimited; limit memory by control groups instead");
  // Pinned staging buffers, and what InfiniBand registers.
  constexpr std::int64_t kLocked = std::int64_t{64} << 20;
  const auto locked = ranks_where(ranks, [](const RankFacts& f) {
    return !f.gpus.empty() && f.locked_bytes >= 0 && f.locked_bytes < kLocked;
  });
  out.warn("limits", locked, "less than 64 MiB of memory may be locked, which NCCL needs over InfiniBand",
           "ulimit -l unlimited, or LimitMEMLOCK=infinity of slurmd's unit");
  out.ok_unless_said("limits", "open files, file sizes, address space and locked memory suffice");
}

void check_memory(const Facts& ranks, Findings& out) {
  out.warn("memory", ranks_where(ranks, [](const RankFacts& f) { return f.memory_bytes < kGiB; }),
           "less than 1 GiB is available",
           "muffle plan --ranks K says what a job needs; ask for more (--mem) or end other jobs");
  out.warn("memory",
           ranks_where(ranks,
                       [](const RankFacts& f) {
                         return f.local_size > 1 &&
                                f.shared_memory_bytes < 16 * kMiB * static_cast<std::uint64_t>(f.local_size);
                       }),
           "/dev/shm has less than 16 MiB a rank; MPI and NCCL talk through it inside a host",
           "enlarge it: docker --shm-size=1g, or mount -o remount,size=1g /dev/shm");
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const RankFacts& f : ranks) least = std::min(least, f.memory_bytes);
  out.ok_unless_said("memory", fmt::format("at least {:.1f} GiB available on every host",
                                           static_cast<double>(least) / static_cast<double>(kGiB)));
}

void check_folder(const Facts& ranks, Findings& out) {
  const auto by = [&](const std::function<bool(const FolderFacts&)>& holds) {
    return ranks_where(ranks, [&](const RankFacts& f) { return holds(f.folder); });
  };
  const std::string& path = ranks.front().folder.path;
  const auto broken = by([](const FolderFacts& f) { return !f.error.empty(); });
  if (!broken.empty()) {
    const std::string why = ranks[static_cast<std::size_t>(broken.front())].folder.error;
    out.fail("folder", broken, why, "choose a folder that every rank may write to (--out)", ExitCode::kIo);
  }
  out.fail(
      "folder",
      by([](const FolderFacts& f) { return f.error.empty() && !(f.renames && f.exclusive && f.syncs_file); }),
      fmt::format("in '{}', files are not replaced, created once or synced as POSIX says", path),
      "put the run folder and the ledger on another file system: a crash could lose a charge", ExitCode::kIo);
  out.fail("folder", by([](const FolderFacts& f) { return f.error.empty() && !f.locks; }),
           fmt::format("locks do not work in '{}'", path),
           "put the ledger on another file system (privacy.ledger), or mount this one with locks (Lustre: -o "
           "flock)",
           ExitCode::kIo);
  out.fail("folder", by([](const FolderFacts& f) {
             return f.error.empty() && f.sees_root && f.locks && !f.respects_lock;
           }),
           fmt::format("a lock that rank 0 holds in '{}' is not seen here: two jobs on different hosts could "
                       "charge one ledger at once",
                       path),
           "mount it with locks over all hosts (Lustre: -o flock, NFS: without nolock), or keep the ledger "
           "on another file system",
           ExitCode::kIo);
  out.note("folder", by([](const FolderFacts& f) { return f.error.empty() && !f.syncs_folder; }),
           "the folder itself cannot be synced",
           "a power cut may undo a rename; keep the ledger on a local or a clustered file system");
  out.warn("folder",
           by([](const FolderFacts& f) { return f.filesystem == "tmpfs" || f.filesystem == "ramfs"; }),
           fmt::format("'{}' is in memory and gone after a reboot", path),
           "a ledger there forgets what was spent: keep it on a disk (privacy.ledger)");
  out.warn("folder", by([](const FolderFacts& f) { return f.error.empty() && f.free_bytes < kGiB; }),
           fmt::format("less than 1 GiB is free in '{}'", path), "make room, or choose another");
  const auto apart = by([](const FolderFacts& f) { return f.error.empty() && !f.sees_root; });
  out.note("folder", apart, fmt::format("'{}' is not shared with rank 0", path),
           "results are written on rank 0's host, logs on every host; after a restart rank 0 must be on the "
           "same host");
  const auto kind = [](const RankFacts& f) { return f.folder.filesystem; };
  out.ok_unless_said("folder",
                     fmt::format("'{}': {}; {}", path, groups(ranks, kind),
                                 apart.empty() ? "shared by all ranks, with locks" : "not shared by all"));
}

std::vector<bool> one_a_gpu(const Facts& ranks) {
  std::set<std::string> taken;
  std::vector<bool> out;
  for (const RankFacts& f : ranks) {
    const std::string gpu = gpu_of(f);
    out.push_back(!gpu.empty() && taken.insert(gpu).second);
  }
  return out;
}

void check_gpus(const Facts& ranks, const NetworkFacts& network, Findings& out) {
  out.note("gpus", ranks_where(ranks, [](const RankFacts& f) { return f.gpu_driver && !f.cuda; }),
           "an NVIDIA driver is loaded, but this build is for CPUs",
           "launch/cuda-libtorch.sh builds one that trains on the GPUs (docs/how-to/gpus.md)");
  const auto without = ranks_where(ranks, [](const RankFacts& f) { return f.gpus.empty(); });
  if (without.size() == ranks.size()) return out.ok("gpus", "none; muffle trains on CPUs");
  out.warn("gpus", without,
           "these ranks see no GPU, so all ranks train on CPUs, unless train.ranks = \"with-gpu\" lets the "
           "others train",
           "give every rank one (--gpus-per-task=1), and look at nvidia-smi and CUDA_VISIBLE_DEVICES there");
  std::map<std::string, std::vector<int>> users;
  for (const RankFacts& f : ranks) {
    if (const std::string gpu = gpu_of(f); !gpu.empty()) users[gpu].push_back(f.rank);
  }
  bool shared = false;
  for (const auto& [gpu, who] : users) {
    if (who.size() < 2) continue;
    shared = true;
    out.warn(
        "gpus", who,
        fmt::format("these ranks would share one GPU ({}), which a job refuses unless it is told to", gpu),
        "start at most one rank a GPU (--ntasks-per-node), let only those train that have one of their own "
        "(train.ranks = \"with-gpu\"), or allow it (runtime.share_gpus = true)");
  }
  if (!network.nccl_error.empty()) {
    return out.fail("gpus", kAllRanks, "NCCL does not work over these ranks: " + network.nccl_error,
                    "NCCL_DEBUG=INFO says more; set NCCL_SOCKET_IFNAME to the interface that joins the hosts",
                    ExitCode::kPeer);
  }
  if (network.nccl.empty()) {
    return out.note("gpus", kAllRanks, "NCCL was not tried, because another check failed",
                    "mend that, and start the doctor again");
  }
  const std::string which = shared || !without.empty() ? fmt::format("{} among the ranks", users.size())
                                                       : std::string("one a rank");
  out.ok("gpus", fmt::format("{}; NCCL {} summed over them", which, network.nccl));
}

void check_entropy(const Facts& ranks, Findings& out) {
  const auto without = ranks_where(ranks, [](const RankFacts& f) { return !f.entropy; });
  if (!without.empty()) {
    out.fail("entropy", without, "the operating system gives no random numbers",
             "allow getrandom(2) in the container's seccomp profile; nothing can be released without it",
             ExitCode::kInvariant);
  }
  out.ok_unless_said("entropy", "the operating system's source works");
}

}  // namespace muffle::cluster
