#pragma once

#include "muffle/job/lockstep.hpp"
#include "muffle/job/together.hpp"

namespace muffle::job {

// One round of parties who are all there at once: the one way for `muffle release` and for the audit that
// attacks it. Collective.

/// Before anything else: the coordinator's proposal goes to all parties, each of which would propose the
/// same.
/// @param own  what this party proposes by its own configuration. Its data id counts at the coordinator
/// alone.
/// @throws ProtocolError  at all parties: somebody's proposal is another one; names what differs.
/// @throws ConfigError  the mode is impossible.
ProposedRound agree_on_round(Proposal own, Together& together);

/// Where sums are masked: from proposed to keys agreed; else nothing happens. Before private records are
/// read: whatever is wrong with keys shows here.
/// @param identity  null: keys are not signed.
/// @throws ProtocolError, ConfigError  at all parties. @throws CommError  a party is lost; nothing was
/// revealed.
void agree_on_keys(Contributor& own, Together& together, const crypto::SiteIdentity* identity);

/// Where every party has a share of the noise, draws it; else nothing happens.
void draw_shares(Contributor& own, Together& together, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat);

/// From charged, or closed, to published. @param coordinator  at the coordinator's party; null elsewhere
/// @returns the released numbers, at the coordinator; empty elsewhere.
/// @throws CommError  a party is lost: its masks still cover the sum that the coordinator then holds.
privacy::NoisySum sum_up(Contributor& own, Coordinator* coordinator, Together& together);

}  // namespace muffle::job
