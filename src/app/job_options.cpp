// The verbs of jobs, and their options: what muffle has beside muffle-site.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "command_line.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/mixture.hpp"
#include "options.hpp"

namespace muffle::app {
namespace {

constexpr const char* kAboutMuffle =
    "muffle makes differentially private synthetic data out of records that are spread over many machines.\n"
    "Each rank sums a norm-bounded feature embedding of its own shard; the sums are reduced; one coordinator "
    "adds Gaussian\nnoise once; a generator is then trained against that one noisy vector. After the noise "
    "nothing costs privacy any more.\nStart it alone, or on K ranks: mpirun -n K muffle run --config "
    "configs/fashion-mnist.toml --out out/fashion\n`muffle help VERB` lists a verb's options.";

/// A value in a list of settings, one a line.
std::string one_line(std::string text) {
  if (text.empty()) return "not given";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "'" + text + "'";
}

}  // namespace

CommandLine::CommandLine() : PartyCommandLine(kAboutMuffle, "muffle") {
  party.with_torch = true;
  add_account();
  add_plan_and_audit();
  add_run_verbs();
  add_export();
  add_report();
  add_schema();
  add_check();
  add_doctor();
  add_mixture();
  add_config_keys();
  add_ledger();
  add_verify();
  add_site();
  add_coordinator();
  add_round();
  add_simulate();
  add_slurm();
  add_keygen();
  add_manual();
}

void CommandLine::add_plan_and_audit() {
  Options p(*app_.add_subcommand(
      "plan", "before any data: sigma, signal-to-noise, memory, bytes on the wire, warnings"));
  p.sources(sources);
  p.guarantee(sources);
  p.preset("--ranks", plan_.ranks, "K", "how many ranks the job will have");
  p.value("--records", plan_.records, "M", "a public guess of m, where m is private (add-remove-one)");
  p.format(plan_.format);
  Options a(*app_.add_subcommand(
      "audit", "attack the release path with made-up records; exit code 70 if it leaks more than claimed"));
  a.sources(sources);
  a.guarantee(sources);
  a.preset("--features", audit.features, "D",
           "random features of the audited release; with 2 the sensitivity bound can be met");
  a.preset("--trials", audit.trials, "N", "releases of each data set");
  a.preset("--confidence", audit.confidence, "NUMBER", "with this probability the bound found is true");
  a.format(audit.format);
}

void CommandLine::add_run_verbs() {
  auto* run =
      app_.add_subcommand("run", "the whole job: release, train, sample, evaluate; finished stages are kept");
  auto* release = app_.add_subcommand("release", "embed private records, add noise once, write release.mfl");
  auto* train = app_.add_subcommand("train", "train a generator on a release (nothing private is needed)");
  auto* sample = app_.add_subcommand("sample", "draw synthetic records from a trained model");
  auto* evaluate = app_.add_subcommand("evaluate", "score synthetic records against REAL test records");

  for (CLI::App* verb : {run, release, train, sample, evaluate}) {
    Options(*verb).sources(sources);
    Options(*verb)
        .value("-o,--out", out, "DIR",
               "run folder: everything is written here but the ledger, which lies beside it (privacy.ledger)")
        ->required();
    verb->add_flag("-v,--verbose", verbose, "more on the console; twice for even more");
    verb->add_flag("-q,--quiet", quiet,
                   "errors only, and which settings of [privacy] came from the environment");
  }
  for (CLI::App* verb : {run, evaluate}) Options(*verb).format(format);
  for (CLI::App* verb : {run, release}) add_data_options(*verb);
  release->add_flag("--dry-run", dry_run,
                    "say what the release would cost and whether the budget allows it; release nothing");
  Options(*release).value(
      "--export-tables", export_tables, "DIR",
      "write the release's noisy tables of counts there, as CSV; of one that is there already, too");
  auto* combined = release->add_subcommand(
      "combine", "add releases by one plan, of different sites, up: a late site joins; nothing is charged");
  combined->fallthrough();  // for --out
  Options c(*combined);
  c.value("releases", combine_.releases, "FILE", "two releases or more")->required()->expected(2, 1000);
  c.value("--people", combine_.people, "WORD",
          "apart: nobody is in two of them; shared: somebody may be, and the squares of mu add up")
      ->required()
      ->check(CLI::IsMember({"apart", "shared"}));
  c.value("--signing-key", combine_.signing_key, "FILE",
          "sign the combined release with this key (muffle keygen)");
  for (CLI::App* verb : {run, train})
    Options(*verb).key("--init", sources, "train.init", "WHERE",
                       "where training starts: random or moments, the closed form");
  Options(*train).value("--release", release_file, "FILE", "the release; default: OUT/release.mfl");
  Options(*sample).value("--model", model_file, "FILE", "the model; default: OUT/model.mfl");
  Options(*sample).key("-n,--count", sources, "sample.count", "N", "how many records");
  Options(*evaluate).value("--samples", samples_file, "FILE",
                           "the samples; default: those in OUT, of a format in sample.formats");
  Options(*evaluate).value("--release", release_file, "FILE",
                           "the release, for the metric nearest-mean; default: OUT/release.mfl");
}

void CommandLine::add_export() {
  Options o(*app_.add_subcommand(
      "export", "write a model, or a release's noisy tables, for PyTorch, NumPy, R and others"));
  o.value("file", export_.file, "FILE", "model.mfl or release.mfl")->required();
  o.value("--format", export_.format, "FORMAT",
          "of a model: torchscript (networks), safetensors or npz; of a release with tables: mbi")
      ->required()
      ->check(CLI::IsMember({"torchscript", "safetensors", "npz", "mbi"}));
  o.value("-o,--out", export_.out, "PATH", "a new file; of mbi a folder without files of these names")
      ->required();
}

void CommandLine::add_report() {
  auto* verb = app_.add_subcommand(
      "report",
      "one HTML file for people of a release, its model and its samples: public, or with real records");
  Options o(*verb);
  o.value("--run", report_.run, "DIR", "run folder, in which lies what is not named");
  o.value("--release", report_.release, "FILE", "the release; default: RUN/release.mfl");
  o.value("--model", report_.model, "FILE", "the model; default: RUN/model.mfl, if it is there");
  o.value("--samples", report_.samples, "FILE",
          "the samples, as samples.json beside them lists them; default: those in RUN, if there are any");
  o.value("--ledger", report_.ledger, "FILE", "the data set's ledger, to say what was spent in all");
  o.value("-o,--out", report_.out, "FILE",
          "the report; default: RUN/report.html, or RUN/report-private.html");
  o.value("--about", report_.about, "TEXT", "who makes the report, when and for what: shown at its top");
  auto* open = verb->add_flag("--public");
  open->description("made of public files alone: it may leave as they may (the default)");
  verb->add_flag(
          "--private", report_.is_private,
          "with real records beside, by --config or RUN/config.resolved.toml: PRIVATE, this user's alone")
      ->excludes(open);
  o.sources(sources);
  add_data_files(*verb);
  o.function("--held-out", "FILE", "held-out records (data.test_features), relative to this folder",
             [this](const std::string& v) {
               sources.flags.emplace_back("data.test_features",
                                          std::filesystem::absolute(v).lexically_normal().string());
             });
}

void CommandLine::add_data_options(CLI::App& verb) {
  add_data_files(verb);
  Options o(verb);
  o.guarantee(sources);
  const auto yes = [this](const char* key) {
    return [this, key] { sources.flags.emplace_back(key, "true"); };
  };
  verb.add_flag_callback("--secure-aggregation", yes("privacy.secure_aggregation"),
                         "mask every rank's sum (privacy.secure_aggregation)");
  verb.add_flag_callback("--distributed-noise", yes("privacy.distributed_noise"),
                         "every rank adds a share of the noise (privacy.distributed_noise)");
  auto* seeded = o.value("--insecure-seeded-noise", insecure_seed, "SEED",
                         "FOR TESTS ONLY: noise from this seed; the release is marked NOT PRIVATE");
  verb.add_flag("--insecure-no-noise", no_noise,
                "no noise at all, to see what a method does without: all files are marked NOT PRIVATE")
      ->excludes(seeded);
}

void CommandLine::add_doctor() {
  Options o(*app_.add_subcommand(
      "doctor", "check MPI, GPUs, clocks, limits, folders and versions over all ranks; say what to fix"));
  o.value("-o,--out", doctor.out, "DIR", "the folder that a job would write to; default: this one");
  o.format(doctor.format);
  o.preset("--deadline", doctor.deadline_s, "SECONDS",
           "every wait for another rank ends after so many seconds, one for a file or a device after half of "
           "them")
      ->check(CLI::Range(1.0, 86400.0));
}

void CommandLine::add_slurm() {
  Options o(*app_.add_subcommand("slurm", "print a batch script for Slurm; nothing is run or submitted"));
  auto& j = slurm_;
  o.sources(sources)->required();
  o.value("-o,--out", out, "DIR", "run folder, as the nodes see it")->required();
  o.value("--time", j.time, "TIME", "time limit; a job that reaches it is queued again and goes on")
      ->required();
  o.preset("--kind", j.kind, "KIND",
           "whole; embed (CPUs) and then train (GPUs), as two jobs; or seeds, an array of trainings of one "
           "release");
  o.preset("--launcher", j.launcher, "NAME", "srun (can be preempted) or mpirun");
  o.preset("--nodes", j.nodes, "N", "machines");
  o.preset("--ntasks-per-node", j.ranks_per_node, "N", "ranks on each of them");
  o.preset("--cpus-per-task", j.cores_per_rank, "N", "cores of each rank");
  o.preset("--gpus-per-node", j.gpus_per_node, "N",
           "GPUs; no fewer than ranks that compute on them (train.ranks)");
  o.preset("--grace", j.grace_s, "N", "seconds before the time limit at which ranks checkpoint and stop");
  o.preset("--seeds", j.seeds, "LIST", "of --kind seeds: the array");
  o.preset("--name", j.name, "NAME", "the job's name");
  o.preset("--muffle", j.muffle, "FILE", "the binary, as the nodes see it");
  o.preset("--partition", j.partition, "NAME", "partition");
  o.preset("--account", j.account, "NAME", "account");
  o.preset("--mem", j.memory, "SIZE", "memory of a node");
}

void CommandLine::add_mixture() {
  Options mixture(
      *app_.add_subcommand("make-mixture", "write the papers' 2-D Gaussian mixture as IDX files"));
  mixture.value("-o,--out", out, "DIR", "folder for the four files")->required();
}

std::function<void()> CommandLine::alone(std::ostream& printed) {
  const auto print = [&printed](const auto& text) {
    return [&printed, text] { printed << text() << std::flush; };
  };
  if (verb_ == "plan") return print([this] { return plan(sources, plan_); });
  if (verb_ == "slurm") {
    return print([this] {
      slurm_.config = sources.file;
      slurm_.set = sources.set;
      slurm_.out = out;
      return slurm(slurm_, sources);
    });
  }
  if (verb_ == "report") {
    return [this, &printed] {
      if (report_.run.empty() && report_.out.empty())
        throw UsageError("where is the report to be written? --out FILE, or --run DIR, a run folder.");
      report_command(sources, report_, printed);
    };
  }
  if (verb_ == "export") return [this, &printed] { export_command(export_, printed); };
  if (verb_ == "release" && !combine_.releases.empty()) {
    return [this, &printed] {
      combine_.out = out;
      combine(combine_, printed);
    };
  }
  if (verb_ == "make-mixture") return [this] { data::write_mixture(out); };
  return PartyCommandLine::alone(printed);
}

Stages CommandLine::stages() const {
  if (verb_ == "run") return Stages::all();
  return {verb_ == "release" || verb_ == "audit", verb_ == "train", verb_ == "sample", verb_ == "evaluate"};
}

std::map<std::string, std::string> CommandLine::invocation() const {
  return {{"the verb", party.verb.empty() ? verb_ : party.verb},
          {"--site", one_line(party.folder)},
          {"--exchange", one_line(party.exchange)},
          {"the round", one_line(party.round)},
          {"--out", one_line(out)},
          {"--release", one_line(release_file)},
          {"--model", one_line(model_file)},
          {"--samples", one_line(samples_file)},
          {"--export-tables", one_line(export_tables)},
          {"--dry-run", dry_run ? "given" : "not given"},
          {"--insecure-no-noise", no_noise ? "given" : "not given"},
          {"--insecure-seeded-noise", insecure_seed ? std::to_string(*insecure_seed) : "not given"}};
}

std::string slurm(const cluster::SlurmJob& job, const ConfigSources& sources) {
  const Stages stages = job.kind == "whole"   ? Stages::all()
                        : job.kind == "embed" ? Stages{.release = true}
                                              : Stages{.train = true, .sample = true};
  const Config config = load_config(sources, stages);
  const auto& d = config.devices;
  return cluster::slurm_script(job, {d.embed, config.train.device, config.train.ranks, d.share_gpus,
                                     config.model.chosen().network() != nullptr});
}

}  // namespace muffle::app
