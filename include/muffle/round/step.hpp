#pragma once

#include "muffle/round/apart.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {

// What a party of a round between institutions does next, by its own books and by the messages that it finds:
// one step at a time, days apart, with no network of its own. A step is an act of a role (round/apart.hpp),
// with an exchange: it can be killed anywhere, and done again as often as one likes.

/// What an exchange has of what is wanted. @throws IoError, CommError.
Received find(Exchange& exchange, const Wanted& wanted);

/// Gives a role what it wants to see of the exchange, and puts there what it answers with, until its act has
/// ended. @throws as the role and the exchange do.
StepReport drive(Role& role, Exchange& exchange);

/// A site's one act in a round: reads its policy, sums its records, charges its own ledger, draws its share
/// of the noise and contributes. Later, notes the release in its ledger.
/// @throws PrivacyError  its budget refuses: nothing was read. @throws ProtocolError  exit 76: there is a
/// contribution of its own that its ledger does not know; or what the coordinator has made counts another
/// one.
/// @throws DataError, ConfigError, IoError, CommError.
StepReport contributor_step(const ProposedRound& round, Exchange& exchange, const ContributorJob& job);

/// Whether what there is of this site's contribution to the round, in the exchange, in its outbox or counted
/// by a seal, is what its ledger is bound to. If not, the ledger is an older copy: a site contributes nowhere
/// on top of one, or it would spend what is spent already. Public. @throws IoError, ProtocolError  the ledger
/// cannot be read.
bool ledger_knows(const ProposedRound& round, Exchange& exchange, const ContributorJob& job);

/// A key holder's act in a round: checks the seal, writes down that this one it opens, opens it, writes down
/// what it sends, sends that, and erases its round key. If others are missing, and the coordinator asks, it
/// stands in for them, once. Later, a receipt for the release, or for the round's abandonment.
/// @throws ProtocolError  exit 76: a second, different seal for one round key; an opening of its own that its
/// journal does not know; a seal that is none. @throws ConfigError, IoError, CommError.
StepReport holder_step(const ProposedRound& round, Exchange& exchange, const HolderJob& job);

/// The coordinator's acts in a round: puts aside what does not count, seals what does once all have answered,
/// or at the deadline, asks others to stand in for key holders who may be missing, and are late, sums what
/// was opened, and releases. What makes no release any more is said.
/// @throws ProtocolError  exit 76: the exchange has another seal or release of its own than its journal; the
/// sum is beyond what records and noise can make, or has too few numbers to tell whether an objection is
/// right; stand-ins gave other keys than sites have committed to. @throws ConfigError, IoError, CommError.
StepReport coordinator_step(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job);

/// Gives a round up, for all to see: nothing more is sealed or released in it. Bound to the coordinator's
/// journal; a step that finds too few contributions does it by itself. What was charged stays charged.
/// @throws ConfigError  it is released. @throws as coordinator_step().
StepReport abandon_round(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job,
                         release::AbandonCode code);

}  // namespace muffle::round
