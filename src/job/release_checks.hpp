// What a release checks and says before anything is charged, and what its errors say afterwards.
#pragma once

#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/job/release.hpp"

namespace muffle::job {

/// m is agreed before any private byte is summed: the headers' counts, added over the parties, must be the
/// public m. Under add/remove-one m is private and no party tells its count.
void agree_on_records(Together& together, const ReleaseJob& job, std::uint64_t mine);

void tell_noise(const ReleaseJob& job);

crypto::SiteRoster load_roster(const Together& together, const ReleaseJob& job);

/// How the parties' sums are to come together; says so.
privacy::AggregationMode plan_aggregation(Together& together, const ReleaseJob& job);

/// The binding check is ReleaseTransaction::begin's; a job that fails there need not sum its records. At the
/// coordinator. @param charged  a charge that pays for what is left is there
void ask_ledger(const ReleaseJob& job, bool charged);

/// The same error, with a sentence on what became of its charge at its end.
Error with_sentence(const Error& e, const std::string& sentence);

}  // namespace muffle::job
