#pragma once

#include <string>

#include "muffle/embed/audit.hpp"
#include "muffle/round/lockstep.hpp"
#include "muffle/round/together.hpp"

namespace muffle::round {

// One round of parties who are all there at once: the one way for `muffle release` and for the audit that
// attacks it. Collective.

/// Where sums are masked: from proposed to keys agreed; else nothing happens. Before private records are
/// read: whatever is wrong with keys shows here.
/// @param purpose  what the sum is for; the same at all parties. @param identity  null: keys are not signed.
/// @throws ProtocolError, ConfigError  at all parties. @throws CommError  a party is lost; nothing was
/// revealed.
void agree_on_keys(lockstep::Contributor& own, Together& together, const std::string& purpose,
                   const crypto::SiteIdentity* identity);

/// Where every party has a share of the noise, draws it; else nothing happens.
void draw_shares(lockstep::Contributor& own, Together& together, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat);

/// From charged, or closed, to published. @param coordinator  at the coordinator's party; null elsewhere
/// @returns the released numbers, at the coordinator; empty elsewhere.
/// @throws CommError  a party is lost: its masks still cover the sum that the coordinator then holds.
privacy::NoisySum sum_up(lockstep::Contributor& own, lockstep::Coordinator* coordinator, Together& together);

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
