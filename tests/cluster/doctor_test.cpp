#include "muffle/cluster/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "cluster/facts.hpp"

namespace muffle::cluster {
namespace {

using Level = Finding::Level;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Four ranks, two on each of two hosts, on which everything is as it should be.
std::vector<RankFacts> healthy() {
  std::vector<RankFacts> all;
  for (int r = 0; r < 4; ++r) {
    RankFacts f;
    f.rank = r;
    f.local_rank = r % 2;
    f.local_size = 2;
    f.host = r < 2 ? "alpha" : "beta";
    f.version = "1.2.3";
    f.binary = std::string(64, 'a');
    f.mpi = "Open MPI v4.1.4, ident";
    f.libtorch = "libtorch_cpu.so.1.13 e20b0b9d69c3";
    f.kernels = "avx2";
    f.launcher = "mpirun";
    for (int i = 0; i < 5; ++i) {
      f.before.push_back(1000.0 + i);
      f.after.push_back(1000.0 + i + 0.001);
    }
    f.cores_online = 8;
    for (int c = 0; c < 4; ++c) f.cores.push_back(4 * (r % 2) + c);
    f.threads = 4;
    f.open_files = 4096;
    f.memory_bytes = std::uint64_t{16} << 30;
    f.shared_memory_bytes = std::uint64_t{1} << 30;
    f.tcp_retries = 6;
    f.keepalive_s = 11;
    f.entropy = true;
    f.folder = {"/shared/run", "nfs4", std::uint64_t{100} << 30, "", true, true, true, true, true,
                true,          true};
    all.push_back(f);
  }
  return all;
}

NetworkFacts network() {
  return {.sums = true, .latency_s = 1e-5, .large_s = 1e-2, .nccl = "", .nccl_error = ""};
}

/// Findings that are worse than ok.
std::vector<Finding> bad(const std::vector<Finding>& all) {
  std::vector<Finding> out;
  for (const Finding& f : all) {
    if (f.level != Level::kOk) out.push_back(f);
  }
  return out;
}

using Damage = std::function<void(std::vector<RankFacts>&, NetworkFacts&)>;

/// Expects exactly one finding worse than ok after the damage.
Finding only_finding(const Damage& damage) {
  auto ranks = healthy();
  auto net = network();
  damage(ranks, net);
  const auto found = bad(examine(ranks, net));
  std::string said;
  for (const Finding& f : found) said += f.check + ": " + f.message + "\n";
  EXPECT_EQ(found.size(), 1u) << said;
  if (found.size() != 1) return {};
  EXPECT_FALSE(found[0].fix.empty()) << "says what to do: " << found[0].message;
  return found[0];
}

void finds(const char* check, Level level, const std::vector<int>& ranks, ExitCode code, const char* says,
           const Damage& damage) {
  const Finding f = only_finding(damage);
  EXPECT_EQ(f.check, check);
  EXPECT_EQ(f.level, level);
  EXPECT_EQ(f.ranks, ranks);
  EXPECT_EQ(f.code, code);
  EXPECT_THAT(f.message, HasSubstr(says));
}
void fails(const char* check, const std::vector<int>& ranks, ExitCode code, const char* says,
           const Damage& damage) {
  finds(check, Level::kFailure, ranks, code, says, damage);
}
void warns(const char* check, const std::vector<int>& ranks, const char* says, const Damage& damage) {
  finds(check, Level::kWarning, ranks, ExitCode::kDone, says, damage);
}
void notes(const char* check, const std::vector<int>& ranks, const char* says, const Damage& damage) {
  finds(check, Level::kNote, ranks, ExitCode::kDone, says, damage);
}

TEST(DoctorChecks, AllIsWell) {
  const auto found = examine(healthy(), network());
  EXPECT_THAT(bad(found), IsEmpty());
  EXPECT_EQ(verdict(found), ExitCode::kDone);
  EXPECT_EQ(found.size(), 10u) << "every check says something when all is well";
}

TEST(DoctorChecks, Mpi) {
  fails("mpi", {}, ExitCode::kConfig, "MPICH 4 on rank 2", [](auto& r, auto&) { r[2].mpi = "MPICH 4"; });
  fails("mpi", {}, ExitCode::kInvariant, "wrong sum", [](auto&, auto& n) { n.sums = false; });
  notes("mpi", {}, "started alone", [](auto& r, auto&) {
    r.resize(1);
    r[0].launcher = "none";
  });
}

TEST(DoctorChecks, Versions) {
  fails("versions", {}, ExitCode::kConfig, "1.2.3 on ranks 0, 2, 3; 1.2.4 on rank 1",
        [](auto& r, auto&) { r[1].version = "1.2.4"; });
  warns("versions", {}, "binary bbbbbbbbbbbb on rank 3",
        [](auto& r, auto&) { r[3].binary = std::string(64, 'b'); });
  fails("versions", {}, ExitCode::kConfig,
        "libtorch_cpu.so 0123456789ab on rank 2; libtorch_cpu.so.1.13 e20b0b9d69c3 on ranks 0, 1, 3",
        [](auto& r, auto&) { r[2].libtorch = "libtorch_cpu.so 0123456789ab"; });
  notes("versions", {}, "generic on rank 3", [](auto& r, auto&) { r[3].kernels = "generic"; });
  warns("versions", {2, 3}, "old processor (Prescott)", [](auto& r, auto&) {
    for (const std::size_t i : {2, 3}) r[i].blas = "Prescott", r[i].better_blas = "SkylakeX";
  });
}

void give_gpus(std::vector<RankFacts>& ranks, NetworkFacts& network) {
  network.nccl = "2.28.9";
  for (RankFacts& f : ranks) {
    f.cuda = true;
    f.nccl = "2.28.9";
    f.gpus = {"GPU-" + f.host + "-0", "GPU-" + f.host + "-1"};
    f.gpu = f.local_rank;
    f.gpu_driver = true;
  }
}

/// The damage to ranks that have GPUs.
Damage on_gpus(const Damage& damage) {
  return [=](auto& ranks, auto& network) {
    give_gpus(ranks, network);
    damage(ranks, network);
  };
}

TEST(DoctorChecks, LibrariesOfGpuBuildsAreComparedAmongThemselves) {
  fails("versions", {}, ExitCode::kConfig, "2.14.3 on rank 1; 2.28.9 on ranks 0, 2, 3",
        on_gpus([](auto& r, auto&) { r[1].nccl = "2.14.3"; }));
  // Two hosts with CPU builds that hold records: other binaries, as the warning says, and another LibTorch.
  auto ranks = healthy();
  auto net = network();
  give_gpus(ranks, net);
  for (const std::size_t i : {2, 3}) {
    ranks[i].cuda = ranks[i].gpu_driver = false;
    ranks[i].nccl.clear();
    ranks[i].gpus.clear();
    ranks[i].gpu = -1;
    ranks[i].binary = std::string(64, 'b');
    ranks[i].libtorch = "libtorch_cpu.so.2 0123456789ab";
  }
  EXPECT_EQ(verdict(examine(ranks, net)), ExitCode::kDone);
  ranks[3].libtorch = "libtorch_cpu.so.2 ffffffffffff";
  EXPECT_EQ(verdict(examine(ranks, net)), ExitCode::kConfig);
}

void shift_clock(RankFacts& f, double seconds) {
  for (double& t : f.before) t += seconds;
  for (double& t : f.after) t += seconds;
}

TEST(DoctorChecks, Clocks) {
  warns("clocks", {2}, "at least 2 s", [](auto& r, auto&) { shift_clock(r[2], 2); });
  warns("clocks", {2}, "at least 2 s", [](auto& r, auto&) { shift_clock(r[2], -2); });
  fails("clocks", {1, 2, 3}, ExitCode::kConfig, "at least 100 s",
        [](auto& r, auto&) { shift_clock(r[0], 100); });
}

TEST(DoctorChecks, ClockBoundsHoldTheTruthHoweverLongMessagesTake) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> delay(1.0 / 0.2);
  for (int trial = 0; trial < 200; ++trial) {
    const double offset = std::uniform_real_distribution<double>(-5, 5)(random);
    RankFacts a, b;
    b.rank = 1;
    double time = 0;
    for (int round = 0; round < 10; ++round) {
      const double enter_a = time + delay(random), enter_b = time + delay(random);
      const double met = std::max(enter_a, enter_b);  // nobody leaves before all have come
      const double leave_a = met + delay(random), leave_b = met + delay(random);
      a.before.push_back(enter_a + offset);
      a.after.push_back(leave_a + offset);
      b.before.push_back(enter_b);
      b.after.push_back(leave_b);
      time = std::max(leave_a, leave_b);
    }
    const auto [low, high] = clock_bounds(a, b);
    EXPECT_LE(low, offset + 1e-9);
    EXPECT_GE(high, offset - 1e-9);
    EXPECT_LT(high - low, 2.0) << "ten rounds say something";
  }
}

TEST(DoctorChecks, ClockWithoutRoundsIsUnknown) {
  RankFacts a, b;
  b.rank = 1;
  const auto [low, high] = clock_bounds(a, b);
  EXPECT_TRUE(std::isinf(low) && low < 0);
  EXPECT_TRUE(std::isinf(high) && high > 0);
}

TEST(DoctorChecks, Cores) {
  warns("cores", {2, 3}, "bound to the same cores", [](auto& r, auto&) { r[3].cores = r[2].cores; });
  warns("cores", {1}, "more threads than cores", [](auto& r, auto&) { r[1].cores = {4}; });
  warns("cores", {1}, "container's limit", [](auto& r, auto&) { r[1].core_quota = 1.5; });
  warns("cores", {2, 3}, "host beta has 8 cores for 16 threads", [](auto& r, auto&) {
    for (const std::size_t i : {2, 3}) {  // unbound ranks may use every core, but not twice
      r[i].cores = {0, 1, 2, 3, 4, 5, 6, 7};
      r[i].threads = 8;
    }
  });
}

TEST(DoctorChecks, LimitsAndMemory) {
  warns("limits", {0}, "files may be open", [](auto& r, auto&) { r[0].open_files = 64; });
  warns("limits", {0}, "size of files", [](auto& r, auto&) { r[0].file_bytes = 1 << 20; });
  warns("limits", {1}, "address space", [](auto& r, auto&) { r[1].address_bytes = 1 << 30; });
  warns("memory", {3}, "1 GiB", [](auto& r, auto&) { r[3].memory_bytes = 1 << 20; });
  warns("memory", {3}, "/dev/shm", [](auto& r, auto&) { r[3].shared_memory_bytes = 1 << 20; });
}

TEST(DoctorChecks, Folder) {
  fails("folder", {1}, ExitCode::kIo, "no such folder",
        [](auto& r, auto&) { r[1].folder.error = "no such folder"; });
  fails("folder", {1}, ExitCode::kIo, "created once", [](auto& r, auto&) { r[1].folder.exclusive = false; });
  fails("folder", {1}, ExitCode::kIo, "replaced", [](auto& r, auto&) { r[1].folder.renames = false; });
  fails("folder", {1}, ExitCode::kIo, "synced", [](auto& r, auto&) { r[1].folder.syncs_file = false; });
  fails("folder", {1}, ExitCode::kIo, "locks do not work", [](auto& r, auto&) { r[1].folder.locks = false; });
  fails("folder", {2}, ExitCode::kIo, "charge one ledger at once",
        [](auto& r, auto&) { r[2].folder.respects_lock = false; });
  notes("folder", {1}, "folder itself", [](auto& r, auto&) { r[1].folder.syncs_folder = false; });
  warns("folder", {0}, "in memory", [](auto& r, auto&) { r[0].folder.filesystem = "tmpfs"; });
  warns("folder", {0}, "1 GiB is free", [](auto& r, auto&) { r[0].folder.free_bytes = 1 << 20; });
  notes("folder", {2, 3}, "not shared with rank 0", [](auto& r, auto&) {
    for (const std::size_t i : {2, 3}) r[i].folder.sees_root = r[i].folder.respects_lock = false;
  });
}

TEST(DoctorChecks, Gpus) {
  auto ranks = healthy();
  auto net = network();
  give_gpus(ranks, net);
  EXPECT_THAT(bad(examine(ranks, net)), IsEmpty());

  warns("gpus", {0, 1}, "share one GPU", on_gpus([](auto& r, auto&) { r[1].gpu = 0; }));
  warns("gpus", {1}, "see no GPU", on_gpus([](auto& r, auto&) { r[1].gpus.clear(), r[1].gpu = -1; }));
  fails("gpus", {}, ExitCode::kPeer, "no socket interface",
        on_gpus([](auto&, auto& n) { n.nccl.clear(), n.nccl_error = "no socket interface"; }));
  notes("gpus", {}, "NCCL was not tried", on_gpus([](auto&, auto& n) { n.nccl.clear(); }));
  // Ranks that share: both settings are named, and NCCL is tried over the first on each GPU.
  ranks[1].gpu = ranks[3].gpu = 0;
  EXPECT_THAT(one_a_gpu(ranks), ElementsAre(true, false, true, false));
  const auto shared = examine(ranks, net);
  EXPECT_EQ(verdict(shared), ExitCode::kDone);
  for (const Finding& f : bad(shared))
    EXPECT_THAT(f.fix,
                AllOf(HasSubstr("train.ranks = \"with-gpu\""), HasSubstr("runtime.share_gpus = true")));
  EXPECT_TRUE(std::any_of(shared.begin(), shared.end(), [](const Finding& f) {
    return f.message == "2 among the ranks; NCCL 2.28.9 summed over them";
  }));
  ranks[0].gpus.clear();
  ranks[0].gpu = -1;
  EXPECT_THAT(one_a_gpu(ranks), ElementsAre(false, true, true, false));
  net.nccl_error = "no socket interface";
  EXPECT_EQ(verdict(examine(ranks, net)), ExitCode::kPeer);
  warns("limits", {3}, "may be locked", on_gpus([](auto& r, auto&) { r[3].locked_bytes = 64 << 10; }));
  notes("gpus", {0}, "this build is for CPUs", [](auto& r, auto&) { r[0].gpu_driver = true; });
  EXPECT_THAT(only_finding([](auto& r, auto&) { r[0].gpu_driver = true; }).fix,
              HasSubstr("launch/cuda-libtorch.sh"))
      << "launch/build.sh cuda trains on CPUs where LibTorch is Debian's";
}

TEST(DoctorChecks, LinksAndEntropy) {
  warns("links", {0}, "8 minutes", [](auto& r, auto&) { r[0].keepalive_s = 480; });
  const auto of_mpi_5 = [](auto& ranks, auto&) {
    for (RankFacts& f : ranks) f.mpi = "Open MPI v5.0.10, package", f.keepalive_s = 0;
  };
  warns("links", {0, 1, 2, 3}, "ends with 0", of_mpi_5);
  notes("links", {3}, "tcp_retries2", [](auto& r, auto&) { r[3].tcp_retries = 15; });
  fails("entropy", {1}, ExitCode::kInvariant, "random numbers", [](auto& r, auto&) { r[1].entropy = false; });
  auto one_host = healthy();
  for (RankFacts& f : one_host) {
    f.host = "alpha";
    f.keepalive_s = 0;
    f.threads = 2;
    f.cores = {2 * f.rank, 2 * f.rank + 1};
  }
  EXPECT_THAT(bad(examine(one_host, network())), IsEmpty()) << "one host has no links to lose";
}

TEST(DoctorChecks, TheFirstFailureIsTheVerdict) {
  auto ranks = healthy();
  ranks[1].entropy = false;
  ranks[1].folder.locks = false;
  EXPECT_EQ(verdict(examine(ranks, network())), ExitCode::kIo);
  ranks[0].version = "9";
  EXPECT_EQ(verdict(examine(ranks, network())), ExitCode::kConfig);
}

}  // namespace
}  // namespace muffle::cluster
