#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "muffle/app/commands.hpp"
#include "muffle/embed/artifact.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::app {

/// The ledger that a release is written down in.
struct LedgerPlace {
  std::filesystem::path file;
  std::string data_id;
  std::optional<privacy::Budget> budget;
};

/// privacy.ledger and data.id, or their defaults: ledger-<data set>.jsonl in the folder that holds the run
/// folder, so that runs beside one another share it; the data set's name is made from the record file's path.
LedgerPlace ledger_place(const Context& context);

/// Blocks up to half of runtime.deadline_s, so that the other ranks, which wait for root, outlast it.
privacy::Ledger open_ledger(const Context& context);

/// What this job's release is charged as.
privacy::ChargeTerms charge_terms(const Context& context, const privacy::NoisePlan& plan);

/// Whether this job's release is in the run folder; if so, it is committed to the ledger, and its privacy
/// statement is there too. Called by root, under the ledger's lock.
/// @throws ConfigError    a release of another configuration is there.
/// @throws ProtocolError  as Ledger::settle.
bool settle_release(const Context& context, privacy::Ledger& ledger);

/// privacy.json and privacy.txt.
void write_statements(const Context& context, const embed::Artifact& artifact);

}  // namespace muffle::app
