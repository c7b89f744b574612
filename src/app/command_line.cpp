#include "command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/mixture.hpp"

namespace muffle::app {
namespace {

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

/// A path that was typed means what it means to the shell; one in a configuration is joined to data.dir.
std::string from_here(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// Is that, with its commas, the name of one file? Of "{rank}" rank 0's, or else one in a folder that is
/// there.
bool is_one_file(const std::string& paths) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = paths;
  const std::string folder = path.parent_path().string();
  const WatchedStep step("looking for", path);
  return fs::exists(data::resolve_path({}, paths, 0), error) ||
         (folder.find(',') != std::string::npos && fs::is_directory(folder, error));
}

/// The same for several paths between commas (CIFAR).
std::string all_from_here(const std::string& paths) {
  if (is_one_file(paths)) return from_here(paths);
  std::string out;
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = std::min(paths.find(',', at), paths.size());
    const std::size_t begin = std::min(paths.find_first_not_of(' ', at), end);
    out += (at == 0 ? "" : ",") + from_here(paths.substr(begin, end - begin));
    at = end + 1;
  }
  return out;
}

void add_common(CLI::App& command, CommandLine& o) {
  command.add_option("-c,--config", o.sources.file, "settings, a TOML file")->type_name("FILE");
  command.add_option("--set", o.sources.set, "one setting, section.key=value; may be given again")
      ->type_name("KEY=VALUE")
      ->take_all();
  command
      .add_option(
          "-o,--out", o.out,
          "run folder: everything is written here but the ledger, which lies beside it (privacy.ledger)")
      ->type_name("DIR")
      ->required();
  command.add_flag("-v,--verbose", o.verbose, "more on the console; twice for even more");
  command.add_flag("-q,--quiet", o.quiet, "errors only");
}

void add_data_flags(CLI::App& command, CommandLine& o) {
  command
      .add_option_function<std::string>(
          "--data",
          [&o](const std::string& v) {
            o.sources.flags.emplace_back("data.features", all_from_here(v));
            if (v.find("{rank}") != std::string::npos)
              o.sources.flags.emplace_back("data.shards", "per-rank");
          },
          "records (data.features), relative to this folder, not to data.dir; \"{rank}\" becomes the rank's "
          "number: "
          "shards that live apart")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--labels",
          [&o](const std::string& v) { o.sources.flags.emplace_back("data.labels", from_here(v)); },
          "labels (data.labels), likewise")
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

CLI::App* add_verify(CLI::App& app, release::ReleaseFiles& o, std::string& format) {
  auto* command = app.add_subcommand(
      "verify", "check a release: checksum, signature, arithmetic, ledger; print its privacy card");
  command->add_option("file", o.release, "the release (release.mfl)")->type_name("FILE")->required();
  command->add_option("--key", o.key, "public key file; the release must be signed with this key")
      ->type_name("FILE");
  command
      ->add_option("--ledger", o.ledger,
                   "the data set's ledger, from somebody you trust; by default the one beside the release is "
                   "looked at, which "
                   "vouches for nothing")
      ->type_name("FILE");
  command->add_option("--format", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  return command;
}

CLI::App* add_doctor(CLI::App& app, cluster::DoctorCommand& o) {
  auto* command = app.add_subcommand(
      "doctor", "check MPI, GPUs, clocks, limits, folders and versions over all ranks; say what to fix");
  command->add_option("-o,--out", o.out, "the folder that a job would write to; default: this one")
      ->type_name("DIR");
  command->add_option("--format", o.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  command
      ->add_option("--deadline", o.deadline_s,
                   "every wait for another rank ends after so many seconds, one for a file or a "
                   "device after half of them")
      ->check(CLI::Range(1.0, 86400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  return command;
}

/// `muffle verify`: prints every check and the privacy card; then throws if a check fails.
void print_verification(const release::ReleaseFiles& files, const std::string& format) {
  const release::Verification verification = release::verify_file(files);
  std::cout << (format == "json" ? verification_json(verification) : verification_text(verification))
            << std::flush;
  require_passed(verification);
}

/// A value in a list of settings, one a line.
std::string one_line(std::string text) {
  if (text.empty()) return "not given";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "'" + text + "'";
}

}  // namespace

void CommandLine::require_verb(const std::string& word) const {
  std::string nearest;
  std::size_t least = 3;  // more slips are another word
  for (const CLI::App* verb : app_.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t distance = settings::edit_distance(word, verb->get_name());
    if (distance == 0) return;
    if (distance < least) least = distance, nearest = verb->get_name();
  }
  throw UsageError("'" + word + "' is no verb of muffle's" +
                   (nearest.empty() ? "" : "; did you mean '" + nearest + "'") + ". See `muffle --help`.");
}

CommandLine::CommandLine() : app_(kAbout, "muffle"), privacy_(app_) {
  app_.footer(kFooter);
  app_.set_version_flag("--version", std::string("muffle ") + MUFFLE_VERSION);
  app_.require_subcommand(1);
  add_run_verbs();
  add_doctor(app_, doctor);
  add_local_verbs();
}

void CommandLine::add_run_verbs() {
  auto* run_cmd =
      app_.add_subcommand("run", "the whole job: release, train, sample, evaluate; finished stages are kept");
  auto* release_cmd =
      app_.add_subcommand("release", "embed private records, add noise once, write release.mfl");
  auto* train_cmd =
      app_.add_subcommand("train", "train a generator on a release (nothing private is needed)");
  auto* sample_cmd = app_.add_subcommand("sample", "draw synthetic records from a trained model");
  auto* evaluate_cmd = app_.add_subcommand("evaluate", "score synthetic records against REAL test records");

  for (CLI::App* command : {run_cmd, release_cmd, train_cmd, sample_cmd, evaluate_cmd})
    add_common(*command, *this);
  for (CLI::App* command : {run_cmd, release_cmd}) add_data_flags(*command, *this);
  release_cmd->add_flag("--dry-run", dry_run,
                        "say what the release would cost and whether the budget allows it; release nothing");
  for (CLI::App* command : {run_cmd, train_cmd}) {
    command
        ->add_option_function<std::string>(
            "--init", [this](const std::string& v) { sources.flags.emplace_back("train.init", v); },
            "where training starts: random or moments, the closed form (train.init)")
        ->type_name("WHERE");
  }
  train_cmd->add_option("--release", release_file, "the release; default: OUT/release.mfl")
      ->type_name("FILE");
  sample_cmd->add_option("--model", model_file, "the model; default: OUT/model.mfl")->type_name("FILE");
  sample_cmd
      ->add_option_function<std::string>(
          "-n,--count", [this](const std::string& v) { sources.flags.emplace_back("sample.count", v); },
          "how many records (sample.count)")
      ->type_name("N");
  evaluate_cmd->add_option("--samples", samples_file, "the samples; default: OUT/samples.npz")
      ->type_name("FILE");
}

void CommandLine::add_local_verbs() {
  auto* mixture_cmd =
      app_.add_subcommand("make-mixture", "write the papers' 2-D Gaussian mixture as IDX files");
  mixture_cmd->add_option("-o,--out", out, "folder for the four files")->type_name("DIR")->required();
  app_.add_subcommand("config-keys", "list every setting with its default and meaning");
  add_ledger(app_, ledger_);
  add_verify(app_, verify_, verify_format_);
  add_slurm(app_, slurm_);
  auto* keygen_cmd = app_.add_subcommand("keygen", "make a site's key pair, for signed secure aggregation");
  keygen_cmd->add_option("-o,--out", keygen_.out, "folder for NAME.key and NAME.pub")
      ->type_name("DIR")
      ->required();
  keygen_cmd->add_option("--name", keygen_.name, "the site's name")->type_name("SITE")->required();
}

void CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
    verb_ = app_.get_subcommands().front()->get_name();
  } catch (const CLI::Success& e) {  // help or version
    std::ostringstream text;
    app_.exit(e, text, text);
    help_ = text.str();
    verb_ = "help";
  } catch (const CLI::ParseError& e) {
    if (argc > 1 && argv[1][0] != '-') require_verb(argv[1]);
    throw UsageError(std::string(e.what()) + ". See `muffle --help`, or `muffle VERB --help`.");
  }
  sources.environment = environment_settings();
}

std::function<void()> CommandLine::alone() {
  if (verb_ == "help") return [this] { std::cout << help_ << std::flush; };
  if (verb_ == "config-keys") return [] { std::cout << describe_keys() << std::flush; };
  if (privacy_.parsed()) return [this] { privacy_.run(std::cout); };
  if (verb_ == "keygen") return [this] { make_site_key(keygen_, std::cout); };
  if (verb_ == "ledger") return [this] { ledger(ledger_); };
  if (verb_ == "verify") return [this] { print_verification(verify_, verify_format_); };
  if (verb_ == "slurm") {
    return [this] {
      std::cout << slurm(slurm_, {slurm_.config, environment_settings(), slurm_.set, {}}) << std::flush;
    };
  }
  if (verb_ == "make-mixture") {
    return [this] {
      ensure_writable_folder(out);
      data::write_mixture(out, /*seed=*/1);
    };
  }
  return {};
}

ConfigSources CommandLine::audit_sources() const { return privacy_.audit_sources(); }

void CommandLine::audit(comm::HostComm& comm) { privacy_.run_audit(std::cout, comm); }

Stages CommandLine::stages() const {
  if (verb_ == "run") return Stages::all();
  return {verb_ == "release", verb_ == "train", verb_ == "sample", verb_ == "evaluate"};
}

std::map<std::string, std::string> CommandLine::invocation() const {
  return {{"the verb", verb_},
          {"--out", one_line(out)},
          {"--release", one_line(release_file)},
          {"--model", one_line(model_file)},
          {"--samples", one_line(samples_file)},
          {"--dry-run", dry_run ? "given" : "not given"},
          {"--insecure-seeded-noise", insecure_seed ? std::to_string(*insecure_seed) : "not given"}};
}

}  // namespace muffle::app
