#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "muffle/app/config.hpp"
#include "muffle/comm/host_comm.hpp"

namespace muffle::app {

// Commands that compute with public numbers alone: no records, no budget, and no MPI but for audit. What they
// print is in `format` "text" or "json" (docs/reference/accounting.md has the JSON keys).

/// `muffle plan`: what a job will need and how much of the signal the noise leaves, before any data exist.
struct PlanCommand {
  int ranks = 1;
  std::optional<std::uint64_t> records;  ///< a public guess of m, for add/remove-one, where m is private
  std::string format = "text";
};
/// Opens no file but the configuration. @returns what it prints. @throws ConfigError as load_config;
/// UsageError for absurd ranks.
std::string plan(const ConfigSources& sources, const PlanCommand& command);

/// `muffle audit`: attacks the real release path with canaries (embed/audit.hpp).
struct AuditCommand {
  std::size_t features = 2;  ///< D of the audited block; with one frequency the bound is met
  std::uint64_t trials = 100'000;
  double confidence = 0.9999;
  std::string format = "text";
};
/// On the ranks of `comm`, in the mode of aggregation that the configuration asks for (without site keys).
/// Collective: it attacks the release path of all ranks that there are; root prints.
/// @throws ConfigError as load_config, and for absurd trials or confidence; InvariantError (exit 70), on
/// every rank and after printing, if the release exceeds its claim.
void audit(const ConfigSources& sources, const AuditCommand& command, comm::HostComm& comm,
           std::ostream& out);

}  // namespace muffle::app
