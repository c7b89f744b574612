#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"
#include "muffle/comm/host_comm.hpp"

namespace muffle::app {

// Commands that compute with public numbers alone: no records, no budget, and no MPI but for audit. Each
// returns what it prints, in `format` "text" or "json" (docs/reference/accounting.md has the JSON keys).

/// `muffle plan`: what a job will need and how much of the signal the noise leaves, before any data exist.
struct PlanCommand {
  ConfigSources sources;
  int ranks = 1;
  std::optional<std::uint64_t> records;  ///< a public guess of m, for add/remove-one, where m is private
  std::string format = "text";
};
/// Opens no file but the configuration. @throws ConfigError as load_config; UsageError for absurd ranks.
std::string plan(const PlanCommand& command);

/// `muffle audit`: attacks the real release path with canaries (embed/audit.hpp).
struct AuditCommand {
  ConfigSources sources;
  std::size_t features = 2;  ///< D of the audited block; with one frequency the bound is met
  std::uint64_t trials = 100'000;
  double confidence = 0.9999;
  std::string format = "text";
};
struct AuditOutcome {
  std::string text;
  bool exceeds = false;  ///< the release leaks more than it claims: exit 70
};
/// On the ranks of `comm`, in the mode of aggregation that the configuration asks for (without site keys).
/// Collective; the text and the verdict are root's.
/// @throws ConfigError as load_config, and for absurd trials or confidence.
AuditOutcome audit(const AuditCommand& command, comm::HostComm& comm);

}  // namespace muffle::app
