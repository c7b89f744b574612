#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "muffle/round/drive.hpp"
#include "muffle/round/release.hpp"

// A release has two halves. The first, here, can be stopped and costs nothing. The second begins with the
// round's closing, is given no heartbeat, and ends with a COMMIT.
namespace muffle::round {

double seconds_since(std::chrono::steady_clock::time_point then);

/// The operating system's entropy or, for tests, a stream of this site's own: two sites never draw the same.
std::unique_ptr<privacy::EntropySource> entropy_of(const ReleaseJob& job, int site);

/// Opens the records, agrees on their number, plans, asks the ledger, exchanges keys, embeds.
/// @returns the round, with its records embedded; nothing for a dry run.
std::unique_ptr<Round> prepare(Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job);

}  // namespace muffle::round
