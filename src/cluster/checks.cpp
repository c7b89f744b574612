#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "facts.hpp"

namespace muffle::cluster {
namespace {

constexpr double kSkewWarning_s = 1, kSkewFailure_s = 60;

std::size_t hosts_in(const Facts& ranks) {
  std::set<std::string> names;
  for (const RankFacts& f : ranks) names.insert(f.host);
  return names.size();
}

void check_mpi(const Facts& ranks, const NetworkFacts& network, Findings& out) {
  const auto library = [](const RankFacts& f) { return f.mpi; };
  if (!all_equal(ranks, library)) {
    out.fail("mpi", kAllRanks, "the ranks use different MPI libraries: " + groups(ranks, library),
             "install the same MPI on every host, or start all ranks from one container image",
             ExitCode::kConfig);
  }
  if (!network.sums) {
    out.fail("mpi", kAllRanks, "a reduction of known integers over all ranks gave a wrong sum",
             "release nothing here; check that every host has the same MPI, architecture and muffle",
             ExitCode::kInvariant);
  }
  if (ranks.size() == 1 && ranks.front().launcher == "none") {
    out.note("mpi", kAllRanks, "started alone, without mpirun or srun: nothing between ranks was checked",
             "start the doctor as the job will be started, such as: launch/local.sh 2 doctor");
    return;
  }
  out.ok_unless_said(
      "mpi", fmt::format(
                 "{} rank{} on {} host{} by {}; {}; all-reduce of 8 B in {:.3g} ms, of 8 MiB in {:.3g} ms",
                 ranks.size(), ranks.size() == 1 ? "" : "s", hosts_in(ranks), hosts_in(ranks) == 1 ? "" : "s",
                 ranks.front().launcher, ranks.front().mpi.substr(0, ranks.front().mpi.find(',')),
                 network.latency_s * 1e3, network.large_s * 1e3));
}

Facts of_build(const Facts& ranks, bool cuda) {
  Facts out;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(out),
               [&](const RankFacts& f) { return f.cuda == cuda; });
  return out;
}

void check_versions(const Facts& ranks, Findings& out) {
  const auto version = [](const RankFacts& f) { return f.version; };
  const auto binary = [](const RankFacts& f) { return "binary " + f.binary.substr(0, 12); };
  const auto kernels = [](const RankFacts& f) { return f.kernels; };
  if (!all_equal(ranks, version)) {
    out.fail("versions", kAllRanks, "the ranks run different versions of muffle: " + groups(ranks, version),
             "install one version on every host", ExitCode::kConfig);
  } else if (!all_equal(ranks, binary)) {
    out.warn("versions", kAllRanks, "the ranks run different builds of muffle: " + groups(ranks, binary),
             "copy one binary to every host, unless CPU and GPU builds are mixed on purpose");
  }
  // Shared libraries, which one binary may find in two versions. Ranks of CPU builds, which may hold records
  // for others to train on, have a LibTorch of their own.
  const auto libtorch = [](const RankFacts& f) { return f.libtorch.empty() ? "unknown" : f.libtorch; };
  const auto nccl = [](const RankFacts& f) { return f.nccl.empty() ? "unknown" : f.nccl; };
  for (const bool cuda : {false, true}) {
    const Facts alike = of_build(ranks, cuda);
    const std::string fix =
        "install the same one on every host and look at LD_LIBRARY_PATH there, or start all ranks from one "
        "container image";
    if (!all_equal(alike, libtorch))
      out.fail("versions", kAllRanks,
               "the ranks load different builds of LibTorch: " + groups(alike, libtorch), fix,
               ExitCode::kConfig);
    if (cuda && !all_equal(alike, nccl))
      out.fail("versions", kAllRanks, "the ranks load different versions of NCCL: " + groups(alike, nccl),
               fix, ExitCode::kConfig);
  }
  if (!all_equal(ranks, kernels)) {
    out.note("versions", kAllRanks, "the embedding's kernels differ: " + groups(ranks, kernels),
             "the sums do not change, but the slowest rank sets the pace");
  }
  const std::string& blas = ranks.front().blas;
  const std::vector<int> slow = ranks_where(ranks, [](const RankFacts& f) { return !f.better_blas.empty(); });
  if (!slow.empty()) {
    const RankFacts& one = ranks[static_cast<std::size_t>(slow.front())];
    out.warn("versions", slow,
             fmt::format("OpenBLAS computes by kernels for an old processor ({}): training may take twice as "
                         "long",
                         one.blas),
             fmt::format("set OPENBLAS_CORETYPE={} there, or leave it unset and start bin/muffle",
                         one.better_blas));
  }
  out.ok_unless_said("versions", fmt::format("muffle {} everywhere, binary {}, {}{}{}", ranks.front().version,
                                             ranks.front().binary.substr(0, 12), libtorch(ranks.front()),
                                             blas.empty() ? "" : fmt::format(", OpenBLAS for {}", blas),
                                             ranks.front().cuda ? ", NCCL " + nccl(ranks.front()) : ""));
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
        "TLS certificates may look expired";
    if (certain > kSkewFailure_s) {
      out.fail("clocks", late, what, fix, ExitCode::kConfig);
    } else {
      out.warn("clocks", late, what, fix);
    }
  }
  out.ok_unless_said("clocks", fmt::format("within {:.3g} ms of rank 0's", most * 1e3));
}

/// Its own mpirun was Open MPI's up to 4; from 5 on it is PRRTE's, which reports no lost host.
bool by_prrte(const RankFacts& f) {
  constexpr std::string_view kName = "Open MPI v";
  int major = 0;
  if (!f.mpi.starts_with(kName)) return false;
  std::from_chars(f.mpi.data() + kName.size(), f.mpi.data() + f.mpi.size(), major);
  return f.launcher == "mpirun" && major >= 5;
}

void check_links(const Facts& ranks, Findings& out) {
  if (hosts_in(ranks) < 2) return;
  out.warn("links", ranks_where(ranks, by_prrte),
           "mpirun of Open MPI 5 ends with 0 when a host is lost: exit codes mean nothing",
           "use Open MPI 4.1, or srun --mpi=pmix (muffle slurm --launcher srun)");
  constexpr double kNoticed_s = 60;
  out.warn("links",
           ranks_where(ranks,
                       [](const RankFacts& f) {
                         return f.launcher == "mpirun" && !by_prrte(f) &&
                                !(f.keepalive_s > 0 && f.keepalive_s <= kNoticed_s);
                       }),
           "mpirun notices a cut link after 8 minutes (OpenMPI's keepalives)",
           "start with launch/mpirun.sh, which sets the three oob_tcp_keepalive parameters");
  out.note(
      "links", ranks_where(ranks, [](const RankFacts& f) { return f.tcp_retries > 8; }),
      "TCP gives a cut link up to 15 minutes (net.ipv4.tcp_retries2 above 8)",
      "where you own the hosts: sysctl net.ipv4.tcp_retries2=6; else rely on launch/mpirun.sh's time limit");
  out.ok_unless_said("links", "cut links are noticed");
}

}  // namespace

std::vector<int> ranks_where(const Facts& ranks, const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> out;
  for (const RankFacts& f : ranks) {
    if (holds(f)) out.push_back(f.rank);
  }
  return out;
}

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
    if (f.level == Finding::Level::kFailure) return f.code;
  }
  return ExitCode::kDone;
}

}  // namespace muffle::cluster
