#pragma once

#include "muffle/comm/host_comm.hpp"
#include "muffle/embed/audit.hpp"
#include "muffle/privacy/aggregation.hpp"

namespace muffle::job {

/// The path of `muffle release` on the ranks of `job`: embed_shard, a round, NoiseVector::publish, with the
/// sums reduced in `mode`, each masked release by a secure sum of its own with fresh keys, and with noise
/// from the operating system's entropy, drawn by the coordinator or by every rank. In distributed noise the
/// last `mode.colluding` ranks are curious: each tells root its share (its entropy is recorded, and the share
/// drawn again from it), and what they know is taken off the released numbers. Collective; the numbers are
/// root's, and zeros elsewhere. Site keys are not used, and no ledger: the records are made up.
/// @param embedder, job  outlive the function. @param mode  of job.size() ranks
/// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
/// @throws ProtocolError  ranks would draw other noise, or embed otherwise, than root.
embed::ReleaseFunction real_release(const embed::Embedder& embedder, comm::HostComm& job,
                                    const privacy::AggregationMode& mode);

}  // namespace muffle::job
