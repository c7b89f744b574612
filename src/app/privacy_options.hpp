#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "muffle/app/privacy_commands.hpp"

namespace muffle::app {

/// `muffle account`, `muffle plan` and `muffle audit` on the command line.
class PrivacyCommands {
 public:
  /// Adds them to `app`. The object must outlive the parsing.
  explicit PrivacyCommands(CLI::App& app);
  PrivacyCommands(const PrivacyCommands&) = delete;
  PrivacyCommands& operator=(const PrivacyCommands&) = delete;

  bool parsed() const;
  /// Runs the one that was parsed and prints what it returns to `out`. Reads MUFFLE_* variables as the other
  /// commands do. @throws InvariantError (exit 70), after printing, if an audit exceeds the claim; else what
  /// the command throws.
  /// @param connect  called for an audit alone, which runs on all ranks that there are; root prints.
  void run(std::ostream& out, const std::function<comm::HostComm&()>& connect);

 private:
  CLI::App *account_cmd_, *plan_cmd_, *audit_cmd_;
  AccountCommand account_;
  PlanCommand plan_;
  AuditCommand audit_;
};

}  // namespace muffle::app
