#pragma once

#include "muffle/app/commands.hpp"
#include "muffle/release/transaction.hpp"

namespace muffle::app {

/// This job's release as the ledger sees it. privacy.ledger and data.id have defaults:
/// ledger-<data set>.jsonl in the folder that holds the run folder, so that runs beside one another share it;
/// the data set's name is made from the record file's path. Waits for the ledger's lock up to half of
/// runtime.deadline_s, so that the other ranks, which wait for root, outlast it.
release::ReleaseOrder release_order(const Context& context);

}  // namespace muffle::app
