#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "muffle/app/doctor.hpp"

namespace muffle::app {
namespace {

using Level = Finding::Level;
using Facts = std::vector<RankFacts>;

constexpr double kSkewWarning_s = 1, kSkewFailure_s = 60;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

class Findings {
 public:
  void ok(const char* check, std::string message) {
    add(Level::kOk, check, {}, std::move(message), "", ExitCode::kDone);
  }
  void note(const char* check, std::vector<int> ranks, std::string message, std::string fix) {
    add(Level::kNote, check, std::move(ranks), std::move(message), std::move(fix), ExitCode::kDone);
  }
  void warn(const char* check, std::vector<int> ranks, std::string message, std::string fix) {
    add(Level::kWarning, check, std::move(ranks), std::move(message), std::move(fix), ExitCode::kDone);
  }
  void fail(const char* check, std::vector<int> ranks, std::string message, std::string fix, ExitCode code) {
    add(Level::kFailure, check, std::move(ranks), std::move(message), std::move(fix), code);
  }
  /// `message` unless something worse was already said of this check.
  void ok_unless_said(const char* check, std::string message) {
    const bool said = std::any_of(all.begin(), all.end(), [&](const Finding& f) {
      return f.check == check && f.level >= Level::kWarning;
    });
    if (!said) ok(check, std::move(message));
  }
  std::vector<Finding> all;

 private:
  void add(Level level, const char* check, std::vector<int> ranks, std::string message, std::string fix,
           ExitCode code) {
    all.push_back({level, check, std::move(ranks), std::move(message), std::move(fix), code});
  }
};

std::vector<int> ranks_where(const Facts& ranks, const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> out;
  for (const RankFacts& f : ranks) {
    if (holds(f)) out.push_back(f.rank);
  }
  return out;
}

std::size_t hosts_in(const Facts& ranks) {
  std::set<std::string> names;
  for (const RankFacts& f : ranks) names.insert(f.host);
  return names.size();
}

/// "A on ranks 0, 1; B on rank 2": who has which value.
std::string groups(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value) {
  std::map<std::string, std::vector<int>> by_value;
  for (const RankFacts& f : ranks) by_value[value(f)].push_back(f.rank);
  std::vector<std::string> parts;
  for (const auto& [text, who] : by_value)
    parts.push_back(fmt::format("{} on rank{} {}", text, who.size() == 1 ? "" : "s", fmt::join(who, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool all_equal(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const RankFacts& f) { return value(f) == value(ranks.front()); });
}

void check_mpi(const Facts& ranks, const NetworkFacts& network, Findings& out) {
  const auto library = [](const RankFacts& f) { return f.mpi; };
  if (!all_equal(ranks, library)) {
    out.fail("mpi", {}, "the ranks use different MPI libraries: " + groups(ranks, library),
             "install the same MPI on every host, or start all ranks from one container image",
             ExitCode::kConfig);
  }
  if (!network.sums) {
    out.fail("mpi", {}, "a reduction of known integers over all ranks gave a wrong sum",
             "release nothing here; check that every host has the same MPI, architecture and muffle",
             ExitCode::kInvariant);
  }
  if (ranks.size() == 1 && ranks.front().launcher == "none") {
    out.note("mpi", {}, "started alone, without mpirun or srun: nothing between ranks was checked",
             "start the doctor as the job will be started, such as: launch/local.sh 2 doctor");
    return;
  }
  out.ok_unless_said(
      "mpi", fmt::format("{} rank{} on {} host{} by {}; {}; all-reduce of 8 B in {:.3g} ms, of 8 "
                         "MiB in {:.3g} ms",
                         ranks.size(), ranks.size() == 1 ? "" : "s", hosts_in(ranks),
                         hosts_in(ranks) == 1 ? "" : "s", ranks.front().launcher,
                         ranks.front().mpi.substr(0, ranks.front().mpi.find(',')), network.latency_s * 1e3,
                         network.large_s * 1e3));
}

void check_versions(const Facts& ranks, Findings& out) {
  const auto version = [](const RankFacts& f) { return f.version; };
  const auto binary = [](const RankFacts& f) { return "binary " + f.binary.substr(0, 12); };
  const auto kernels = [](const RankFacts& f) { return f.kernels; };
  if (!all_equal(ranks, version)) {
    out.fail("versions", {}, "the ranks run different versions of muffle: " + groups(ranks, version),
             "install one version on every host", ExitCode::kConfig);
  } else if (!all_equal(ranks, binary)) {
    out.warn("versions", {}, "the ranks run different builds of muffle: " + groups(ranks, binary),
             "copy one binary to every host, unless CPU and GPU builds are mixed on purpose");
  }
  if (!all_equal(ranks, kernels)) {
    out.note("versions", {}, "the embedding's kernels differ: " + groups(ranks, kernels),
             "the sums do not change, but the slowest rank sets the pace");
  }
  out.ok_unless_said("versions", fmt::format("muffle {} everywhere, binary {}", ranks.front().version,
                                             ranks.front().binary.substr(0, 12)));
}

void check_clocks(const Facts& ranks, Findings& out) {
  double certain = 0, most = 0;
  std::vector<int> late;
  for (const RankFacts& f : ranks) {
    const auto [low, high] = clock_bounds(f, ranks.front());
    const double proven = std::max({low, -high, 0.0});  // at least so far from rank 0's
    certain = std::max(certain, proven);
    most = std::max({most, high, -low});
    if (proven > kSkewWarning_s) late.push_back(f.rank);
  }
  if (!late.empty()) {
    const std::string what = fmt::format("clocks are at least {:.3g} s away from rank 0's", certain);
    const std::string fix =
        "run chronyd or systemd-timesyncd on every host: logs and ledgers carry times, munge refuses 300 s, "
        "TLS "
        "certificates may look expired";
    if (certain > kSkewFailure_s) {
      out.fail("clocks", late, what, fix, ExitCode::kConfig);
    } else {
      out.warn("clocks", late, what, fix);
    }
  }
  out.ok_unless_said("clocks", fmt::format("within {:.3g} ms of rank 0's", most * 1e3));
}

void check_cores(const Facts& ranks, Findings& out) {
  std::map<std::pair<std::string, int>, int> threads_on;  // (host, core): how many threads may want it
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
  if (!crowded.empty()) {
    out.warn("cores", {crowded.begin(), crowded.end()},
             "more threads than cores: several ranks are bound to the same cores, or a rank to fewer than it "
             "has threads",
             "bind each rank to cores of its own: launch/mpirun.sh --threads T, or srun --cpus-per-task=T "
             "--cpu-bind=cores");
  }
  for (const auto& [host, n] : wanted) {
    if (n > offered[host]) {
      out.warn("cores", ranks_where(ranks, [&](const RankFacts& f) { return f.host == host; }),
               fmt::format("host {} has {} cores for {} threads", host, offered[host], n),
               "start fewer ranks there, or set runtime.threads");
    }
  }
  const auto limited = ranks_where(
      ranks, [&](const RankFacts& f) { return f.core_quota > 0 && f.core_quota < 0.99 * f.threads; });
  if (!limited.empty()) {
    out.warn("cores", limited, "a container's limit gives less time than the threads would use",
             "raise the container's cpu limit, or set runtime.threads to it");
  }
  const auto threads = [](const RankFacts& f) { return fmt::format("{} of {}", f.threads, f.cores_online); };
  out.ok_unless_said("cores", fmt::format("threads a rank, of its host's cores: {}", groups(ranks, threads)));
}

void check_limits(const Facts& ranks, Findings& out) {
  constexpr std::int64_t kFiles = 256;
  const auto files =
      ranks_where(ranks, [](const RankFacts& f) { return f.open_files >= 0 && f.open_files < kFiles; });
  if (!files.empty()) {
    out.warn("limits", files, fmt::format("fewer than {} files may be open", kFiles),
             "raise it: ulimit -n 4096, or LimitNOFILE of slurmd's unit");
  }
  const auto sizes = ranks_where(ranks, [](const RankFacts& f) { return f.file_bytes >= 0; });
  if (!sizes.empty()) {
    out.warn("limits", sizes, "the size of files is limited: a release or checkpoint may be cut off",
             "ulimit -f unlimited");
  }
  const auto address = ranks_where(ranks, [](const RankFacts& f) { return f.address_bytes >= 0; });
  if (!address.empty()) {
    out.warn("limits", address,
             "address space is limited; MPI, CUDA and LibTorch reserve far more than they use",
             "ulimit -v unlimited; limit memory by control groups instead");
  }
  out.ok_unless_said("limits", "open files, file sizes and address space suffice");
}

void check_memory(const Facts& ranks, Findings& out) {
  const auto little = ranks_where(ranks, [](const RankFacts& f) { return f.memory_bytes < kGiB; });
  if (!little.empty()) {
    out.warn("memory", little, "less than 1 GiB is available",
             "muffle plan --ranks K says what a job needs; ask for more (--mem) or end other jobs");
  }
  const auto shared = ranks_where(ranks, [](const RankFacts& f) {
    return f.local_size > 1 && f.shared_memory_bytes < 16 * kMiB * static_cast<std::uint64_t>(f.local_size);
  });
  if (!shared.empty()) {
    out.warn("memory", shared,
             "/dev/shm has less than 16 MiB a rank; MPI and NCCL talk through it inside a host",
             "enlarge it: docker --shm-size=1g, or mount -o remount,size=1g /dev/shm");
  }
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
  const auto unsafe =
      by([](const FolderFacts& f) { return f.error.empty() && !(f.renames && f.exclusive && f.syncs_file); });
  if (!unsafe.empty()) {
    out.fail("folder", unsafe,
             fmt::format("in '{}', files are not replaced, created once or synced as POSIX says", path),
             "put the run folder and the ledger on another file system: a crash could lose a charge",
             ExitCode::kIo);
  }
  const auto unlocked = by([](const FolderFacts& f) { return f.error.empty() && !f.locks; });
  if (!unlocked.empty()) {
    out.fail(
        "folder", unlocked, fmt::format("locks do not work in '{}'", path),
        "put the ledger on another file system (privacy.ledger), or mount this one with locks (Lustre: -o "
        "flock)",
        ExitCode::kIo);
  }
  const auto alone =
      by([](const FolderFacts& f) { return f.error.empty() && f.sees_root && f.locks && !f.respects_lock; });
  if (!alone.empty()) {
    out.fail(
        "folder", alone,
        fmt::format("a lock that rank 0 holds in '{}' is not seen here: two jobs on different hosts could "
                    "charge one ledger at once",
                    path),
        "mount it with locks over all hosts (Lustre: -o flock, NFS: without nolock), or keep the ledger on "
        "another file system",
        ExitCode::kIo);
  }
  const auto unsynced = by([](const FolderFacts& f) { return f.error.empty() && !f.syncs_folder; });
  if (!unsynced.empty()) {
    out.note("folder", unsynced, "the folder itself cannot be synced",
             "a power cut may undo a rename; keep the ledger on a local or a clustered file system");
  }
  const auto volatile_ =
      by([](const FolderFacts& f) { return f.filesystem == "tmpfs" || f.filesystem == "ramfs"; });
  if (!volatile_.empty()) {
    out.warn("folder", volatile_, fmt::format("'{}' is in memory and gone after a reboot", path),
             "a ledger there forgets what was spent: keep it on a disk (privacy.ledger)");
  }
  const auto full = by([](const FolderFacts& f) { return f.error.empty() && f.free_bytes < kGiB; });
  if (!full.empty()) {
    out.warn("folder", full, fmt::format("less than 1 GiB is free in '{}'", path),
             "make room, or choose another");
  }
  const auto apart = by([](const FolderFacts& f) { return f.error.empty() && !f.sees_root; });
  if (!apart.empty()) {
    out.note("folder", apart, fmt::format("'{}' is not shared with rank 0", path),
             "results are written on rank 0's host, logs on every host; after a restart rank 0 must be on "
             "the same "
             "host");
  }
  const auto kind = [](const RankFacts& f) { return f.folder.filesystem; };
  out.ok_unless_said("folder",
                     fmt::format("'{}': {}; {}", path, groups(ranks, kind),
                                 apart.empty() ? "shared by all ranks, with locks" : "not shared by all"));
}

void check_gpus(const Facts& ranks, const NetworkFacts& network, Findings& out) {
  const auto idle = ranks_where(ranks, [](const RankFacts& f) { return f.gpu_driver && !f.cuda; });
  if (!idle.empty()) {
    out.note("gpus", idle, "an NVIDIA driver is loaded, but this build is for CPUs",
             "launch/build.sh cuda, to train on the GPUs");
  }
  const auto without = ranks_where(ranks, [](const RankFacts& f) { return f.gpus.empty(); });
  if (without.size() == ranks.size()) {
    out.ok("gpus", "none; muffle trains on CPUs");
    return;
  }
  if (!without.empty()) {
    out.warn(
        "gpus", without, "these ranks see no GPU, so all ranks train on CPUs",
        "give every rank one (--gpus-per-task=1), and look at nvidia-smi and CUDA_VISIBLE_DEVICES there");
  }
  std::map<std::string, std::vector<int>> users;
  for (const RankFacts& f : ranks) {
    if (f.gpu >= 0 && static_cast<std::size_t>(f.gpu) < f.gpus.size())
      users[f.host + " " + f.gpus[static_cast<std::size_t>(f.gpu)]].push_back(f.rank);
  }
  for (const auto& [gpu, who] : users) {
    if (who.size() < 2) continue;
    out.fail("gpus", who, fmt::format("these ranks would share one GPU ({})", gpu),
             "start at most one rank a GPU: --ntasks-per-node equal to the GPUs of a node",
             ExitCode::kConfig);
  }
  if (!network.nccl_error.empty()) {
    out.fail("gpus", {}, "NCCL does not work over these ranks: " + network.nccl_error,
             "NCCL_DEBUG=INFO says more; set NCCL_SOCKET_IFNAME to the interface that joins the hosts",
             ExitCode::kPeer);
  }
  out.ok_unless_said("gpus", fmt::format("one a rank; NCCL {} summed over them", network.nccl));
}

void check_links(const Facts& ranks, Findings& out) {
  if (hosts_in(ranks) < 2) return;
  constexpr double kNoticed_s = 60;
  const auto slow = ranks_where(ranks, [](const RankFacts& f) {
    return f.launcher == "mpirun" && !(f.keepalive_s > 0 && f.keepalive_s <= kNoticed_s);
  });
  if (!slow.empty()) {
    out.warn("links", slow, "mpirun notices a cut link after 8 minutes (OpenMPI's keepalives)",
             "start with launch/mpirun.sh, which sets the three oob_tcp_keepalive parameters");
  }
  const auto patient = ranks_where(ranks, [](const RankFacts& f) { return f.tcp_retries > 8; });
  if (!patient.empty()) {
    out.note("links", patient, "TCP gives a cut link up to 15 minutes (net.ipv4.tcp_retries2 above 8)",
             "where you own the hosts: sysctl net.ipv4.tcp_retries2=6; else rely on launch/mpirun.sh's time "
             "limit");
  }
  out.ok_unless_said("links", "cut links are noticed");
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

}  // namespace

std::pair<double, double> clock_bounds(const RankFacts& a, const RankFacts& b) {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  if (a.rank == b.rank) return {0, 0};
  const std::size_t rounds = std::min({a.before.size(), a.after.size(), b.before.size(), b.after.size()});
  for (std::size_t i = 0; i < rounds; ++i) {
    low = std::max(low, a.before[i] - b.after[i]);
    high = std::min(high, a.after[i] - b.before[i]);
  }
  return {low, high};
}

std::vector<Finding> examine(const std::vector<RankFacts>& ranks, const NetworkFacts& network) {
  Findings out;
  check_mpi(ranks, network, out);
  check_versions(ranks, out);
  check_clocks(ranks, out);
  check_cores(ranks, out);
  check_limits(ranks, out);
  check_memory(ranks, out);
  check_folder(ranks, out);
  check_gpus(ranks, network, out);
  check_links(ranks, out);
  check_entropy(ranks, out);
  return out.all;
}

ExitCode verdict(const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    if (f.level == Level::kFailure) return f.code;
  }
  return ExitCode::kDone;
}

}  // namespace muffle::app
