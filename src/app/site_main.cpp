// muffle-site: the verbs of parties between institutions, in one process, without MPI and LibTorch.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <thread>

#include "command_line.hpp"
#include "muffle/comm/gpu_choice.hpp"
#include "muffle/comm/launcher.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"

namespace {

using namespace muffle;

/// How long one read or write may take.
constexpr std::chrono::minutes kIoDeadline{10};

embed::Embedder embedder_on_cpu(const app::Config& config, release::ReleasePlan plan) {
  (void)comm::choose_gpus(
      {{"this machine", 0, {}, "muffle-site computes on CPUs alone, and `muffle` on GPUs"}}, {0},
      config.devices.embed, false, "features.device");
  return embed::make_embedder(std::move(plan));
}

int run(int argc, char** argv) {
  app::PartyCommandLine line;
  line.parse(argc, argv);
  if (comm::launched_processes() > 1)
    throw UsageError(
        "muffle-site is one process, and a launcher started several: a site's job of several ranks "
        "is `mpirun muffle site step`. Nothing was read.");
  if (const auto alone = line.alone(std::cout)) {
    alone();
  } else {
    comm::install_termination_handler();
    const auto comm = comm::single_process();
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    app::site_step(line.party, {*comm, cores, embedder_on_cpu}, std::cout);
  }
  if (!flush_standard_output())
    throw IoError("standard output could not be written to the end: is the disk full, or its reader gone?");
  return 0;
}

int fail(const Error& e) noexcept {
  try {
    if (!e.quiet()) spdlog::error("{}", e.what());
    spdlog::shutdown();
  } catch (...) {
    last_words(e.what());
  }
  return static_cast<int>(e.code());
}

}  // namespace

int main(int argc, char** argv) {
  forbid_core_dumps();
  allow_many_files();
  secure_standard_streams();
  privacy::exit_on_entropy_failure();
  try {
    set_up_logging({});
    const Watchdog watchdog(kIoDeadline, [](const std::string& what) {
      last_words(what.c_str());
      std::_Exit(static_cast<int>(ExitCode::kPeer));
    });
    return run(argc, argv);
  } catch (const Error& e) {
    return fail(e);
  } catch (const std::exception& e) {
    return fail(Error(ExitCode::kInternal,
                      std::string("internal error: ") + e.what() + ". Please report it with the command."));
  }
}
