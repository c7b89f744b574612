#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "config_keys.hpp"
#include "keys_command.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/app/doctor.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/threads.hpp"
#include "muffle/data/mixture.hpp"
#include "privacy_options.hpp"

namespace muffle::app {
namespace {

struct Options {
  ConfigSources sources;
  std::string out, release_file, model_file, samples_file;
  int verbose = 0;
  bool quiet = false;
  std::optional<std::uint64_t> insecure_seed;
  bool dry_run = false;
  LedgerCommand ledger;
  VerifyCommand verify;
  DoctorCommand doctor;
};

constexpr const char* kAbout =
    "muffle makes differentially private synthetic data out of records that are spread over many machines.\n"
    "Each rank sums a norm-bounded feature embedding of its own shard; the sums are reduced; one coordinator "
    "adds Gaussian\n"
    "noise once; a generator is then trained against that one noisy vector. After the noise nothing costs "
    "privacy any more.\n"
    "Start it alone, or on K ranks: mpirun -n K muffle run --config configs/fashion-mnist.toml --out "
    "out/fashion";
constexpr const char* kFooter =
    "Settings come from --config, then MUFFLE_SECTION__KEY variables, then --set section.key=value, then "
    "flags; later ones\n"
    "win. Exit codes: 0 done, 2 usage, 65 bad data, 69 a rank is missing, 70 an invariant broke, 74 "
    "input/output,\n"
    "75 stopped early (run it again), 76 checksum or protocol, 77 privacy budget, 78 configuration.";

void add_common(CLI::App& command, Options& o) {
  command.add_option("-c,--config", o.sources.file, "settings, a TOML file")->type_name("FILE");
  command.add_option("--set", o.sources.set, "one setting, section.key=value; may be given again")
      ->type_name("KEY=VALUE")
      ->take_all();
  command.add_option("-o,--out", o.out, "run folder: everything is written here")
      ->type_name("DIR")
      ->required();
  command.add_flag("-v,--verbose", o.verbose, "more on the console; twice for even more");
  command.add_flag("-q,--quiet", o.quiet, "errors only");
}

void add_data_flags(CLI::App& command, Options& o) {
  command
      .add_option_function<std::string>(
          "--data",
          [&o](const std::string& v) {
            o.sources.flags.emplace_back("data.features", v);
            if (v.find("{rank}") != std::string::npos)
              o.sources.flags.emplace_back("data.shards", "per-rank");
          },
          "records (data.features); \"{rank}\" becomes the rank's number: shards that live apart")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--labels", [&o](const std::string& v) { o.sources.flags.emplace_back("data.labels", v); },
          "labels (data.labels)")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--epsilon", [&o](const std::string& v) { o.sources.flags.emplace_back("privacy.epsilon", v); },
          "epsilon (privacy.epsilon)")
      ->type_name("NUMBER");
  command
      .add_option_function<std::string>(
          "--delta", [&o](const std::string& v) { o.sources.flags.emplace_back("privacy.delta", v); },
          "delta (privacy.delta)")
      ->type_name("NUMBER");
  command.add_flag_callback(
      "--secure-aggregation", [&o] { o.sources.flags.emplace_back("privacy.secure_aggregation", "true"); },
      "mask every rank's sum (privacy.secure_aggregation)");
  command.add_flag_callback(
      "--distributed-noise", [&o] { o.sources.flags.emplace_back("privacy.distributed_noise", "true"); },
      "every rank adds a share of the noise (privacy.distributed_noise)");
  command
      .add_option("--insecure-seeded-noise", o.insecure_seed,
                  "FOR TESTS ONLY: noise from this seed; the release is marked NOT PRIVATE")
      ->type_name("SEED");
}

/// `muffle ledger` and its verbs.
CLI::App* add_ledger(CLI::App& app, LedgerCommand& o) {
  auto* command =
      app.add_subcommand("ledger", "look at, check or set the budget of a data set's privacy ledger");
  command->require_subcommand(1);
  auto* show = command->add_subcommand("show", "what was spent, by which releases, and what remains");
  auto* verify =
      command->add_subcommand("verify", "check the whole chain of hashes; exit code 76 if it is broken");
  auto* budget =
      command->add_subcommand("budget", "set the budget of all releases together; recorded for ever");
  for (CLI::App* verb : {show, verify, budget}) {
    verb->add_option("--ledger", o.file, "the ledger (privacy.ledger)")->type_name("FILE")->required();
    verb->add_option("--data-id", o.data_id, "the data set that it must be of (data.id)")
        ->type_name("ID")
        ->required(verb == budget);
    verb->callback([&o, verb] { o.verb = verb->get_name(); });
  }
  show->add_option("--format", o.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  verify
      ->add_option("--head", o.head,
                   "SHA-256 of a line noted earlier, which must still be there: finds rollbacks")
      ->type_name("HASH");
  auto* epsilon =
      budget->add_option("--epsilon", o.budget_epsilon, "the new budget's epsilon")->type_name("NUMBER");
  budget->add_option("--delta", o.budget_delta, "the new budget's delta")
      ->type_name("NUMBER")
      ->capture_default_str();
  budget->add_flag("--none", o.no_budget, "lift the budget")->excludes(epsilon);
  return command;
}

CLI::App* add_verify(CLI::App& app, VerifyCommand& o) {
  auto* command = app.add_subcommand(
      "verify", "check a release: checksum, signature, arithmetic, ledger; print its privacy card");
  command->add_option("file", o.file, "the release (release.mfl)")->type_name("FILE")->required();
  command->add_option("--key", o.key, "public key file; the release must be signed with this key")
      ->type_name("FILE");
  command
      ->add_option("--ledger", o.ledger, "the data set's ledger; default: the one beside the release, if any")
      ->type_name("FILE");
  command->add_option("--format", o.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  return command;
}

CLI::App* add_doctor(CLI::App& app, DoctorCommand& o) {
  auto* command = app.add_subcommand(
      "doctor", "check MPI, GPUs, clocks, limits, folders and versions over all ranks; say what to fix");
  command->add_option("-o,--out", o.out, "the folder that a job would write to; default: this one")
      ->type_name("DIR");
  command->add_option("--format", o.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  command->add_option("--deadline", o.deadline_s, "every wait for another rank ends after so many seconds")
      ->check(CLI::Range(1.0, 86400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  return command;
}

/// Resolves the configuration on every rank and makes the ranks agree on it; opens the run folder and the
/// logs.
Context open_run(const Options& o, comm::HostComm& comm) {
  Context context{comm, {}, o.out, 1, o.insecure_seed, o.dry_run};
  comm::agree(
      comm, "reading the configuration", [&] { context.config = load_config(o.sources); }, true);
  require_same_config(comm, context.config);
  comm::agree(
      comm, "opening the run folder",
      [&] {
        if (comm.is_root()) ensure_writable_folder(context.out);
      },
      true);
  comm::agree(
      comm, "opening the logs",
      [&] {
        set_up_logging({comm.rank(), comm.host(), context.out / "logs", o.quiet ? -1 : o.verbose});
        if (comm.is_root()) write_file_atomically(context.out / kConfigFile, to_toml(context.config));
      },
      true);
  const std::int64_t asked = context.config.runtime.threads;
  context.threads = asked > 0 ? static_cast<int>(asked) : owned_cores(comm.local_size());
  set_compute_threads(context.threads);
  spdlog::info("{} rank{}, {} thread{} each, run folder {}", comm.size(), comm.size() == 1 ? "" : "s",
               context.threads, context.threads == 1 ? "" : "s", context.out.string());
  prepare_generated_data(context);
  return context;
}

std::filesystem::path or_in_run_folder(const std::string& given, const Context& context, const char* name) {
  return given.empty() ? context.out / name : std::filesystem::path(given);
}

}  // namespace

int dispatch(int argc, char** argv, comm::HostComm& (*connect)(double deadline_s)) {
  set_up_logging({});
  CLI::App app(kAbout, "muffle");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("muffle ") + MUFFLE_VERSION);
  app.require_subcommand(1);
  Options o;

  auto* run_cmd =
      app.add_subcommand("run", "the whole job: release, train, sample, evaluate; finished stages are kept");
  auto* release_cmd =
      app.add_subcommand("release", "embed private records, add noise once, write release.mfl");
  auto* train_cmd = app.add_subcommand("train", "train a generator on a release (nothing private is needed)");
  auto* sample_cmd = app.add_subcommand("sample", "draw synthetic records from a trained model");
  auto* evaluate_cmd = app.add_subcommand("evaluate", "score synthetic records against REAL test records");
  auto* mixture_cmd =
      app.add_subcommand("make-mixture", "write the papers' 2-D Gaussian mixture as IDX files");
  auto* keys_cmd = app.add_subcommand("config-keys", "list every setting with its default and meaning");

  auto* ledger_cmd = add_ledger(app, o.ledger);
  auto* verify_cmd = add_verify(app, o.verify);
  auto* doctor_cmd = add_doctor(app, o.doctor);
  PrivacyCommands privacy_commands(app);
  KeygenRequest keygen;
  auto* keygen_cmd = app.add_subcommand("keygen", "make a site's key pair, for signed secure aggregation");
  keygen_cmd->add_option("-o,--out", keygen.out, "folder for NAME.key and NAME.pub")
      ->type_name("DIR")
      ->required();
  keygen_cmd->add_option("--name", keygen.name, "the site's name")->type_name("SITE")->required();

  for (CLI::App* command : {run_cmd, release_cmd, train_cmd, sample_cmd, evaluate_cmd})
    add_common(*command, o);
  for (CLI::App* command : {run_cmd, release_cmd}) add_data_flags(*command, o);
  release_cmd->add_flag("--dry-run", o.dry_run,
                        "say what the release would cost and whether the budget allows it; release nothing");
  train_cmd->add_option("--release", o.release_file, "the release; default: OUT/release.mfl")
      ->type_name("FILE");
  sample_cmd->add_option("--model", o.model_file, "the model; default: OUT/model.mfl")->type_name("FILE");
  sample_cmd
      ->add_option_function<std::string>(
          "-n,--count", [&o](const std::string& v) { o.sources.flags.emplace_back("sample.count", v); },
          "how many records (sample.count)")
      ->type_name("N");
  evaluate_cmd->add_option("--samples", o.samples_file, "the samples; default: OUT/samples.npz")
      ->type_name("FILE");
  mixture_cmd->add_option("-o,--out", o.out, "folder for the four files")->type_name("DIR")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string message = std::string(e.what()) + ". See `muffle --help`, or `muffle VERB --help`.";
    // A rank with a better command line waits in open_run's first agreement: this one meets it there.
    comm::HostComm& comm = connect(Config{}.runtime.deadline_s);
    set_up_logging({comm.rank(), comm.host(), {}, 0});
    comm::agree(
        comm, "reading the command line", [&] { throw UsageError(message); }, true);
  }

  if (keys_cmd->parsed()) {
    std::cout << describe_keys();
    return 0;
  }
  if (privacy_commands.parsed()) {
    privacy_commands.run(std::cout);
    return 0;
  }
  if (keygen_cmd->parsed()) {
    make_site_key(keygen, std::cout);
    return 0;
  }
  if (ledger_cmd->parsed()) {
    ledger(o.ledger);
    return 0;
  }
  if (verify_cmd->parsed()) {
    verify(o.verify);
    return 0;
  }
  if (mixture_cmd->parsed()) {
    ensure_writable_folder(o.out);
    data::write_mixture(o.out, /*seed=*/1);
    return 0;
  }

  if (doctor_cmd->parsed()) {
    comm::HostComm& comm = connect(o.doctor.deadline_s);
    set_up_logging({comm.rank(), comm.host(), {}, 0});
    return static_cast<int>(doctor(comm, o.doctor, std::cout));
  }

  o.sources.environment = environment_settings();
  // The deadline is itself a setting; until the ranks have agreed on the configuration the default holds.
  double deadline_s = Config{}.runtime.deadline_s;
  try {
    deadline_s = load_config(o.sources).runtime.deadline_s;
  } catch (const Error&) {  // reported by open_run, on all ranks
  }
  comm::HostComm& comm = connect(deadline_s);
  set_up_logging({comm.rank(), comm.host(), {}, o.quiet ? -1 : o.verbose});
  Context context = open_run(o, comm);
  if (run_cmd->parsed()) run(context);
  if (release_cmd->parsed()) release(context);
  if (train_cmd->parsed()) train(context, or_in_run_folder(o.release_file, context, kReleaseFile));
  if (sample_cmd->parsed()) sample(context, or_in_run_folder(o.model_file, context, kModelFile));
  if (evaluate_cmd->parsed()) evaluate(context, or_in_run_folder(o.samples_file, context, kSamplesNpz));
  comm.barrier();
  return 0;
}

}  // namespace muffle::app
