#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

#include "muffle/app/commands.hpp"
#include "muffle/cluster/doctor.hpp"
#include "muffle/crypto/keygen.hpp"
#include "muffle/release/verification.hpp"
#include "privacy_options.hpp"
#include "slurm_options.hpp"

namespace muffle::app {

/// What was typed: every verb's options, and which verb it was. Local: each rank parses its own command line;
/// dispatch() makes the ranks agree on it.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// @throws UsageError.
  void parse(int argc, const char* const* argv);

  /// "release"; "help" if help or the version was asked for.
  const std::string& verb() const { return verb_; }
  /// What one process does for verbs that need no ranks; empty for those that are collective.
  std::function<void()> alone();
  /// `muffle audit`. Collective.
  void audit(comm::HostComm& comm);
  /// Where its settings come from.
  ConfigSources audit_sources() const;
  /// The stages of a collective verb.
  Stages stages() const;
  /// What must be the same on all ranks beside the configuration; names as they are typed.
  std::map<std::string, std::string> invocation() const;

  ConfigSources sources;
  std::string out, release_file, model_file, samples_file;
  int verbose = 0;
  bool quiet = false;
  std::optional<std::uint64_t> insecure_seed;
  bool dry_run = false;
  cluster::DoctorCommand doctor;

  int verbosity() const { return quiet ? -1 : verbose; }

 private:
  void add_run_verbs();
  void add_local_verbs();
  /// @throws UsageError  the word is no verb, with the one that it may stand for.
  void require_verb(const std::string& word) const;

  CLI::App app_;
  PrivacyCommands privacy_;
  LedgerCommand ledger_;
  release::ReleaseFiles verify_;
  std::string verify_format_ = "text";
  crypto::KeygenRequest keygen_;
  cluster::SlurmJob slurm_;
  std::string verb_;
  std::string help_;
};

}  // namespace muffle::app
