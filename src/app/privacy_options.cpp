#include "privacy_options.hpp"

#include <ostream>

#include "muffle/core/error.hpp"

namespace muffle::app {
namespace {

void add_format(CLI::App& command, std::string& format) {
  command.add_option("--format", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
}

void add_sources(CLI::App& command, ConfigSources& sources) {
  command.add_option("-c,--config", sources.file, "settings, a TOML file")->type_name("FILE");
  command.add_option("--set", sources.set, "one setting, section.key=value; may be given again")
      ->type_name("KEY=VALUE")
      ->take_all();
  for (const char* name : {"epsilon", "delta"}) {
    const std::string key = std::string("privacy.") + name;
    command
        .add_option_function<std::string>(
            std::string("--") + name,
            [&sources, key](const std::string& v) { sources.flags.emplace_back(key, v); },
            std::string(name) + " (" + key + ")")
        ->type_name("NUMBER");
  }
}

void add_account_options(CLI::App& command, privacy::AccountRequest& o) {
  command.add_option("--epsilon", o.epsilon, "epsilon of all releases together, 0.001 to 100")
      ->type_name("NUMBER");
  command.add_option("--delta", o.delta, "delta of all releases together, 1e-18 to 0.1")->type_name("NUMBER");
  command
      .add_option("--noise-multiplier", o.noise_multipliers,
                  "sigma / sensitivity of a release; given again: of a further one")
      ->type_name("NUMBER")
      ->expected(1)
      ->take_all();
  command.add_option("--mu", o.mus, "sensitivity / sigma of a release; given again: of a further one")
      ->type_name("NUMBER")
      ->expected(1)
      ->take_all();
  command.add_option("--releases", o.releases, "how often each of these releases happens")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--adjacency", o.adjacency, "replace-one or add-remove-one")
      ->check(CLI::IsMember({"replace-one", "add-remove-one"}))
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option(
          "--block", o.blocks,
          "a released feature block: norm=1,kernel=signed (or nonnegative),weight=1, or one-hot=3/11 "
          "for 3 columns with 11 categories in all; may be given again. Without any the sensitivity is 1")
      ->type_name("BLOCK")
      ->expected(1)
      ->take_all();
  command.add_option("--counts", o.counts, "class counts are released beside the blocks, with this weight")
      ->type_name("WEIGHT");
  command
      .add_option("--records-per-person", o.max_records_per_person,
                  "how many records one person can own at most")
      ->type_name("Q")
      ->capture_default_str();
  add_format(command, o.format);
}

void add_plan_options(CLI::App& command, PlanCommand& o) {
  add_sources(command, o.sources);
  command.add_option("--ranks", o.ranks, "how many ranks the job will have")
      ->type_name("K")
      ->capture_default_str();
  command.add_option("--records", o.records, "a public guess of m, where m is private (add-remove-one)")
      ->type_name("M");
  add_format(command, o.format);
}

void add_audit_options(CLI::App& command, AuditCommand& o) {
  add_sources(command, o.sources);
  command
      .add_option("--features", o.features,
                  "random features of the audited release; with 2 the sensitivity bound can be met")
      ->type_name("D")
      ->capture_default_str();
  command.add_option("--trials", o.trials, "releases of each data set")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--confidence", o.confidence, "with this probability the bound found is true")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_format(command, o.format);
}

}  // namespace

PrivacyCommands::PrivacyCommands(CLI::App& app)
    : account_cmd_(app.add_subcommand(
          "account", "what noise a promise needs, or what noise promises: any two of epsilon, delta, noise")),
      plan_cmd_(app.add_subcommand(
          "plan", "before any data: sigma, signal-to-noise, memory, bytes on the wire, warnings")),
      audit_cmd_(app.add_subcommand(
          "audit",
          "attack the release path with made-up records; exit code 70 if it leaks more than claimed")) {
  add_account_options(*account_cmd_, account_);
  add_plan_options(*plan_cmd_, plan_);
  add_audit_options(*audit_cmd_, audit_);
}

bool PrivacyCommands::parsed() const { return account_cmd_->parsed() || plan_cmd_->parsed(); }

void PrivacyCommands::run(std::ostream& out) {
  if (account_cmd_->parsed()) out << privacy::account(account_) << std::flush;
  if (plan_cmd_->parsed()) {
    plan_.sources.environment = environment_settings();
    out << plan(plan_) << std::flush;
  }
}

ConfigSources PrivacyCommands::audit_sources() const {
  ConfigSources sources = audit_.sources;
  sources.environment = environment_settings();
  return sources;
}

void PrivacyCommands::run_audit(std::ostream& out, comm::HostComm& comm) {
  audit_.sources = audit_sources();
  const AuditOutcome outcome = audit(audit_, comm);
  comm::agree(comm, "judging the audit", true, [&] {
    out << outcome.text << std::flush;
    if (!outcome.exceeds) return;
    throw InvariantError(
        "The audit found that a release leaks more than it claims: the lower bound on mu is above the "
        "claimed mu. Run it again with more --trials to rule out chance; if it stays, release nothing "
        "with this build and report it with the output above.");
  });
}

}  // namespace muffle::app
