#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <map>
#include <span>
#include <string>

#include "muffle/app/commands.hpp"
#include "muffle/cluster/doctor.hpp"
#include "muffle/cluster/slurm.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/privacy/account.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::app {

/// What was typed: the verbs of parties between institutions, and of whoever looks at a release, which need
/// neither MPI nor LibTorch; and which verb it was. Local: each rank parses its own command line; dispatch()
/// makes the ranks agree on it.
class PartyCommandLine {
 public:
  /// Of the program muffle-site.
  PartyCommandLine();
  virtual ~PartyCommandLine() = default;
  PartyCommandLine& operator=(PartyCommandLine&&) = delete;

  /// @throws UsageError.
  void parse(int argc, const char* const* argv);

  /// "release"; "help" if help or the version was asked for.
  const std::string& verb() const { return verb_; }
  /// What one process does for verbs that need no ranks, printing to `printed`; empty for collective ones.
  virtual std::function<void()> alone(std::ostream& printed);

  ConfigSources sources;
  std::string out;
  PartyCommand party;

 protected:
  /// Without verbs yet.
  PartyCommandLine(const std::string& about, const std::string& program);

  // options.cpp
  void add_account();
  void add_data_files(CLI::App& verb);
  void add_schema();
  void add_check();
  void add_config_keys();
  void add_ledger();
  void add_verify();
  void add_keygen();
  void add_manual();
  // site_options.cpp
  void add_site();
  void add_coordinator();
  void add_round();
  void add_simulate();

  CLI::App app_;
  std::string verb_;

 private:
  /// @throws UsageError  the word is no verb, with the one that it may stand for.
  void require_verb(const std::string& word) const;
  /// @throws UsageError  one of the words is no option of the verb's, with the one that it may stand for.
  void require_options(std::span<const std::string> words) const;

  privacy::AccountRequest account_;
  LedgerCommand ledger_;
  SchemaCommand schema_;
  CheckCommand check_;
  SimulateCommand simulate_;
  release::ReleaseFiles verify_;
  std::string verify_format_ = "text";
  std::string keygen_name_;
  std::string page_, shell_;  ///< of man and completion
  std::string help_;
};

/// Every verb of muffle's.
class CommandLine : public PartyCommandLine {
 public:
  CommandLine();

  std::function<void()> alone(std::ostream& printed) override;
  /// The stages of a collective verb.
  Stages stages() const;
  /// What must be the same on all ranks beside the configuration; names as they are typed.
  std::map<std::string, std::string> invocation() const;

  std::string release_file, model_file, samples_file, export_tables;
  int verbose = 0;
  bool quiet = false;
  std::string format = "text";  ///< of run and evaluate
  std::optional<std::uint64_t> insecure_seed;
  bool no_noise = false;
  bool dry_run = false;
  AuditCommand audit;
  cluster::DoctorCommand doctor;

  int verbosity() const { return quiet ? -1 : verbose; }

 private:
  // job_options.cpp
  void add_plan_and_audit();
  void add_run_verbs();
  void add_data_options(CLI::App& verb);
  void add_doctor();
  void add_mixture();
  void add_slurm();
  void add_export();
  void add_report();

  PlanCommand plan_;
  ExportCommand export_;
  ReportCommand report_;
  CombineCommand combine_;
  cluster::SlurmJob slurm_;
};

/// The batch script of `muffle slurm`, for a configuration that can be read: a mistake is cheaper here than
/// after a day in the queue. @throws UsageError, ConfigError, IoError.
std::string slurm(const cluster::SlurmJob& job, const ConfigSources& sources);

}  // namespace muffle::app
