#pragma once

#include <functional>

#include "muffle/comm/host_comm.hpp"
#include "muffle/embed/audit.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/release/charged_document.hpp"

namespace muffle::round {

/// The path of `muffle release` on the ranks of `job`: embed_shard, a round, NoiseVector::publish, with the
/// sums reduced in `mode`, each masked release by a secure sum of its own with fresh keys, and with noise
/// from the operating system's entropy, drawn by the coordinator or by every rank. In distributed noise the
/// last `mode.colluding` ranks are curious: each tells root its share (its entropy is recorded, and the share
/// drawn again from it), and what they know is taken off the released numbers. Collective; the numbers are
/// root's, and zeros elsewhere. Site keys are not used. @param embedder, job, charge  outlive the function.
/// @param mode  of job.size() ranks. @param charge  at root, for all of them; elsewhere null
/// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
embed::ReleaseFunction real_release(const embed::Embedder& embedder, comm::HostComm& job,
                                    const privacy::AggregationMode& mode, const release::Charge* charge);

/// What an audit's releases of made-up records are charged to: a ledger of its own, in a folder that is there
/// for `work` alone. So they go the way of every release, of which nothing draws noise without a charge.
/// @throws IoError, and what `work` throws.
void charge_audit(const release::ReleasePlan& plan, const std::function<void(const release::Charge&)>& work);

}  // namespace muffle::round
