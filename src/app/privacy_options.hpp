#pragma once

#include <CLI/CLI.hpp>

#include "muffle/app/privacy_commands.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/privacy/account.hpp"

namespace muffle::app {

/// `muffle account`, `muffle plan` and `muffle audit` on the command line.
class PrivacyCommands {
 public:
  /// Adds them to `app`. The object must outlive the parsing.
  explicit PrivacyCommands(CLI::App& app);
  PrivacyCommands(const PrivacyCommands&) = delete;
  PrivacyCommands& operator=(const PrivacyCommands&) = delete;

  /// One of those that need no ranks.
  bool parsed() const;
  /// Runs `account` or `plan`, whichever was parsed, and prints what it returns to `out`. Reads MUFFLE_*
  /// variables as the other commands do. @throws what the command throws.
  void run(std::ostream& out);
  /// Where the audit's settings come from.
  ConfigSources audit_sources() const;
  /// Runs `audit`. Collective: it attacks the release path of all ranks that there are; root prints.
  /// @throws InvariantError (exit 70), on every rank and after printing, if the release exceeds its claim.
  void run_audit(std::ostream& out, comm::HostComm& comm);

 private:
  CLI::App *account_cmd_, *plan_cmd_, *audit_cmd_;
  privacy::AccountRequest account_;
  PlanCommand plan_;
  AuditCommand audit_;
};

}  // namespace muffle::app
