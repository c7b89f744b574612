// A small program that talks the way muffle's main does, for fault_test.sh: it sums in a loop until something
// goes wrong.
//   fault_program FOLDER DEADLINE_MS MODE
// FOLDER/rank-N.pid appears when rank N runs, FOLDER/rank-N.started once it is in the loop. MODE: loop,
// data-error (rank 1 finds a bad record while the others are in a collective), or work-R (rank R works for
// ever while the others wait for it; "started" is after 1.5 deadlines of that), or end-R (all is done, and
// rank R, or each for end-all, stops after MPI's end).
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "muffle/comm/mpi.hpp"
#include "muffle/comm/termination.hpp"

namespace {

using namespace muffle;

void mark(const std::filesystem::path& folder, int rank, const std::string& what) {
  const auto path = folder / ("rank-" + std::to_string(rank) + "." + what);
  const auto temporary = path.string() + ".part";
  std::ofstream(temporary) << getpid() << '\n';
  std::filesystem::rename(temporary, path);
}

void sum_for_ever(comm::HostComm& world, const std::filesystem::path& folder, bool fail_on_rank_1) {
  for (int round = 0;; ++round) {
    std::vector<std::uint64_t> in(100'000, 1), out(world.is_root() ? in.size() : 0);
    world.reduce_sum(in, out, 0);
    std::vector<double> gradient(1000, 1);
    world.all_reduce_sum(std::span<double>(gradient));
    if (round == 3) mark(folder, world.rank(), "started");
    if (round == 20 && fail_on_rank_1 && world.rank() == 1)
      throw DataError("shard-1.idx is cut off at row 17");
    // The last rank is the slow one, so that the others are inside a collective nearly always.
    if (world.rank() == world.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void work_for_ever(comm::HostComm& world, const std::filesystem::path& folder, int deadline_ms, int worker) {
  if (world.rank() != worker) mark(folder, world.rank(), "started");
  const auto begun = std::chrono::steady_clock::now();
  for (bool marked = false; world.rank() == worker;) {
    world.check_peers("working");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!marked &&
        std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(deadline_ms * 3 / 2)) {
      mark(folder, world.rank(), "started");
      marked = true;
    }
  }
  world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  comm::MpiSession mpi(&argc, &argv);
  comm::install_termination_handler();
  if (argc != 4) return 2;
  const std::filesystem::path folder = argv[1];
  std::unique_ptr<comm::HostComm> world;
  try {
    world = mpi.world({.deadline = std::chrono::milliseconds(std::atoi(argv[2]))});
    mark(folder, world->rank(), "pid");
    const std::string mode = argv[3];
    if (mode.starts_with("end-")) {
      mark(folder, world->rank(), "started");
      const bool stops = mode == "end-all" || world->rank() == std::atoi(argv[3] + 4);
      world.reset();
      mpi.finish();
      if (stops) ::raise(SIGSTOP);
      std::_Exit(0);
    }
    if (mode.starts_with("work-")) work_for_ever(*world, folder, std::atoi(argv[2]), std::atoi(argv[3] + 5));
    sum_for_ever(*world, folder, mode == "data-error");
  } catch (const Error& e) {
    std::fprintf(stderr, "rank %d exits with %d: %s\n", world ? world->rank() : -1,
                 static_cast<int>(e.code()), e.what());
    if (world) world->abort(e.code());
    return static_cast<int>(e.code());
  }
}
