#pragma once

#include <string>

#include "muffle/round/round.hpp"
#include "muffle/round/transport.hpp"

namespace muffle::round {

// One round over a transport: the one way for `muffle release` and for the audit that attacks it. Collective.

/// Where sums are masked: from proposed to keys agreed; else nothing happens. Before private records are
/// read: whatever is wrong with keys shows here.
/// @param purpose  what the sum is for; the same at all sites. @param identity  null: keys are not signed.
/// @throws ProtocolError, ConfigError  at all sites. @throws CommError  a site did not come; nothing was
/// revealed.
void agree_on_keys(Round& round, Transport& transport, const std::string& purpose,
                   const crypto::SiteIdentity* identity);

/// Where every site has a share of the noise, draws it; else nothing happens.
void draw_shares(Round& round, Transport& transport, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat);

/// From charged to published. @returns the released numbers, at the coordinator; empty elsewhere.
/// @throws CommError  a site is lost: the coordinator then holds a sum that the lost site's masks still
/// cover.
privacy::NoisySum sum_up(Round& round, Transport& transport);

}  // namespace muffle::round
