#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "command_line.hpp"
#include "devices.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/cluster/doctor.hpp"
#include "muffle/comm/launcher.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/comm/mpi.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/process.hpp"
#include "run_folder.hpp"
#include "training_records.hpp"

namespace muffle::app {
namespace {

/// How long the other ranks wait for root, which alone carries out a verb that needs no ranks and does not
/// look at them meanwhile: far beyond the time to verify a large release.
constexpr double kAloneDeadline = 3600.0;

/// The deadline is itself a setting; until the ranks have agreed on the configuration this rank's own holds.
double deadline_of(const CommandLine& line) {
  if (line.verb() == "doctor") return line.doctor.deadline_s;
  try {
    if (line.party.is_site_step()) return load_party(line.party.folder, true).config.runtime.deadline_s;
    return load_config(line.sources, line.stages()).runtime.deadline_s;
  } catch (const Error&) {  // reported by open_run or site_step, on all ranks
    return Config{}.runtime.deadline_s;
  }
}

/// Whoever reads the command later must see what else decided: of the guarantee in any case. Root alone
/// talks.
void tell_environment(const CommandLine& line, const comm::HostComm& comm) {
  constexpr const char* kFrom = "settings from the environment";
  if (const std::string all = from_environment(line.sources); !all.empty())
    spdlog::info("{}: {}", kFrom, all);
  if (!line.quiet || !comm.is_root()) return;
  if (const std::string privacy = from_environment(line.sources, "privacy."); !privacy.empty())
    std::cerr << fmt::format("muffle: {}: {}\n", kFrom, privacy);
}

/// Makes the ranks agree on the resolved configuration; opens the run folder and the logs.
Context open_run(const CommandLine& line, comm::HostComm& comm) {
  Context context{comm,
                  {},
                  line.out,
                  1,
                  line.insecure_seed,
                  line.no_noise,
                  line.dry_run,
                  line.quiet,
                  line.format == "json"};
  ConfigSources sources = line.sources;
  if (sources.file.empty()) {
    std::vector<std::filesystem::path> folders{context.out};
    for (const std::filesystem::path made_from : {line.model_file, line.release_file})
      if (!made_from.empty()) folders.push_back(made_from.parent_path());
    sources.kept = kept_settings(comm, folders, line.stages());
  }
  comm::agree(comm, "reading the configuration", true,
              [&] { context.config = load_config(sources, line.stages()); });
  comm::require_same_settings(comm, agreed_settings(context.config), names_own_files);
  comm::agree(comm, "opening the run folder", true, [&] {
    if (comm.is_root()) ensure_writable_folder(context.out);
  });
  comm::agree(comm, "opening the logs", true, [&] {
    set_up_logging({comm.rank(), comm.host(), context.out / "logs", line.verbosity()});
  });
  tell_environment(line, comm);
  const std::int64_t asked = context.config.runtime.threads;
  const int owned = cluster::cores_of(comm);
  context.threads = asked > 0 ? static_cast<int>(asked) : owned;
  set_compute_threads(context.threads);
  spdlog::info("{} rank{}, {} thread{} each, run folder {}", comm.size(), comm.size() == 1 ? "" : "s",
               context.threads, context.threads == 1 ? "" : "s", context.out.string());
  return context;
}

/// A launcher that does not speak to this MPI starts K processes, each of which takes itself for the only
/// one. A count of 1 may be inherited, from a shell in a step of one task.
void require_whole_job(const comm::HostComm& comm) {
  const int launched = comm::launched_processes();
  if (launched == 1 || launched == comm.size()) return;
  throw ConfigError(fmt::format(
      "The launcher started {} processes, but MPI knows of {}: they would not work together. Use "
      "`srun --mpi=pmix` or `mpirun`, of the MPI that muffle was built with ({}). Nothing was read.",
      launched, comm.size(), comm::MpiSession::library()));
}

std::filesystem::path or_in_run_folder(const std::string& given, const Context& context, const char* name) {
  return given.empty() ? context.out / name : std::filesystem::path(given);
}

void carry_out(Context& context, const CommandLine& line) {
  const std::string& verb = line.verb();
  if (verb == "run") run(context);
  if (verb == "release") release(context);
  if (verb == "train") train(context, or_in_run_folder(line.release_file, context, kReleaseFile));
  if (verb == "sample") sample(context, or_in_run_folder(line.model_file, context, kModelFile));
  if (verb == "evaluate") {
    evaluate(context, line.samples_file, or_in_run_folder(line.release_file, context, kReleaseFile));
    if (context.json && context.comm.is_root())
      std::cout << read_file(context.out / kMetricsFile) << std::flush;
  }
}

/// What `muffle run --format json` prints.
void print_summary(const Context& context, bool scored, bool time_is_public, double seconds) {
  nlohmann::ordered_json out = {{"format", "muffle-run"}, {"version", 1}, {"out", context.out.string()}};
  if (time_is_public) out["seconds"] = seconds;
  out["metrics"] = nullptr;
  if (scored) out["metrics"] = nlohmann::ordered_json::parse(read_file(context.out / kMetricsFile));
  std::cout << out.dump(2) << std::endl;
}

}  // namespace

void run(Context& context) {
  const auto start = std::chrono::steady_clock::now();
  require_held_out(context);
  require_no_noise_to_match(context);
  release(context);
  round_times(context);
  train(context, context.out / kReleaseFile);
  round_times(context);
  sample(context, context.out / kModelFile);
  round_times(context);
  evaluate::Settings& metrics = context.config.evaluate;
  if (context.config.data.test_features.empty()) {
    for (const std::string& name : metrics.leave_out_real()) {
      spdlog::info(
          "evaluate: \"{}\" is left out, as there is nothing to test on: data.test_features names no "
          "held-out real records",
          name);
    }
  }
  if (context.m_is_private && !metrics.own_records) {
    for (const std::string& name : metrics.leave_out_own()) {
      spdlog::info(
          "evaluate: what \"{}\" reads of the release's own records is left out. Such scores tell of m, "
          "which is private here; evaluate.own_records = true asks for them",
          name);
    }
  }
  const bool scored = !metrics.metrics.empty();
  if (scored) evaluate(context, {}, context.out / kReleaseFile);
  // The time taken tells m, which is private under add/remove-one.
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  spdlog::info("run: done{}; everything is in {}",
               context.m_is_private ? "" : fmt::format(" in {:.1f} s", seconds), context.out.string());
  if (context.json && context.comm.is_root()) print_summary(context, scored, !context.m_is_private, seconds);
}

int dispatch(int argc, char** argv, comm::HostComm& (*connect)(double deadline_s, double io_deadline_s)) {
  set_up_logging({});
  CommandLine line;
  std::exception_ptr wrong;
  try {
    line.parse(argc, argv);
  } catch (const UsageError&) {
    wrong = std::current_exception();
  }
  const std::function<void()> alone = wrong ? std::function<void()>() : line.alone(std::cout);
  const double deadline_s = alone ? Config{}.runtime.deadline_s : deadline_of(line);
  // The doctor's rank whose folder does not answer can say so before the others give it up.
  const double io_deadline_s = line.verb() == "doctor" ? deadline_s / 2 : deadline_s;
  comm::HostComm& comm = connect(alone ? kAloneDeadline : deadline_s, io_deadline_s);
  set_up_logging({comm.rank(), comm.host(), {}, line.verbosity()});
  comm::agree(comm, "reading the command line", true, [&] {
    if (wrong) std::rethrow_exception(wrong);
    if (!alone) require_whole_job(comm);
  });
  comm::require_same_settings(comm, line.invocation());
  if (line.verb() == "doctor") return static_cast<int>(cluster::doctor(comm, line.doctor, std::cout));
  if (line.verb() == "audit" || alone) tell_environment(line, comm);
  if (line.party.is_site_step()) {
    site_step(line.party,
              {comm, cluster::cores_of(comm),
               [&](const Config& config, release::ReleasePlan plan) {
                 return make_embedder_on_devices(comm, config, std::move(plan));
               }},
              std::cout);
    return 0;
  }
  if (line.verb() == "audit") {
    audit(line.sources, line.audit, comm, std::cout);
    return 0;
  }
  if (alone) {
    comm::end_on_termination();
    comm::agree(comm, "muffle " + line.verb(), true, [&] {
      comm.check_peers("starting");  // for a signal that came before
      if (comm.is_root()) alone();
    });
    return 0;
  }

  Context context = open_run(line, comm);
  context.export_tables = line.export_tables;
  for (const std::filesystem::path file : {line.release_file, line.model_file, line.samples_file}) {
    if (file.empty()) continue;
    const auto beside = file.parent_path();
    context.reads.insert(context.reads.end(), {file, beside / kConfigFile, beside / kSamplesJson});
  }
  std::int64_t is_private = m_is_private(context) ? 1 : 0;
  comm.all_reduce_max(std::span(&is_private, 1));
  context.m_is_private = is_private != 0;
  try {
    carry_out(context, line);
    comm.barrier();  // nobody reads or writes a file any more
  } catch (...) {
    round_times(context);
    throw;
  }
  round_times(context);
  return 0;
}

}  // namespace muffle::app
