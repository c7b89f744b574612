#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round {
namespace holder {
namespace {

const release::HolderKey& key_of(const ProposedRound& round, const crypto::SiteKey& key) {
  const std::optional<std::size_t> place = round.holder(key.public_key());
  if (!place)
    throw ConfigError(fmt::format("the key of '{}' is none of the round's key holders'.", key.name()));
  return round.proposal.holders[*place];
}

}  // namespace

using release::MessageKind;

Act::Act(const ProposedRound& proposed, const HolderJob& given)
    : round(proposed),
      job(given),
      own(key_of(proposed, given.key)),
      journal(open_journal(given.folder, given.key, given.clock)),
      opening(proposed, journal, given.key, given.folder, MessageKind::kOpening,
              release::opening_name(proposed.id, given.key.public_key()), proposed.length),
      stand_in(proposed, journal, given.key, given.folder, MessageKind::kStandIn,
               release::stand_in_name(proposed.id, given.key.public_key()), 0),
      receipt(proposed, journal, given.key, given.folder, MessageKind::kReceipt,
              release::receipt_name(proposed.id, given.key.public_key()), 0) {
  ensure_writable_folder(outbox(job.folder));
  // What nobody opens by then, nobody opens, whatever is sent: a key that is kept can be betrayed. What was
  // sent or is bound to be sent is kept as bytes.
  if (is_over()) erase_key();
  if (job.clock.now() > round.proposal.last_day()) erase_shares();
}

void Act::erase_key() {
  job.erase_round_key(own);
  if (!journal.state().erased(own.point))
    journal.add({release::JournalEntry::Kind::kErased, round.id, own.point, MessageKind::kSeal, {}});
}

void Act::erase_shares() {
  stand_in.erase_unbound();
  if (round.shares_keys()) crypto::erase_secret_file(job.shares, "the shares of the round's keys");
}

crypto::ExchangePoint Act::place() const {
  return sha256(PublicBytes(
      fmt::format("muffle round of a release 1\n{}\n{}\n", to_hex(round.first()), round.proposal.number())));
}

void Act::take_seal(Received&& received) {
  const auto sealed = message_of(std::move(received));
  if (!sealed) return;
  seal.emplace(round, sealed->header);
  if (const auto other = journal.state().seal_of(place()); other && *other != seal->id)
    throw ProtocolError(fmt::format(
        "There are two seals for round {} of one release: {}, which this key holder has opened or is bound "
        "to open under another proposal, and {}. A site that contributed to both would be charged once for "
        "two draws, so this one is not opened. Ask the coordinator which, and tell the others.",
        round.proposal.number(), to_hex(*other), to_hex(seal->id)));
  const std::optional<Sha256Digest> known = journal.state().seal_of(own.point);
  if (!known || *known == seal->id) return;
  throw ProtocolError(
      fmt::format("There are two seals for round key {} of this key holder: {}, which it has opened or is "
                  "bound to open, and {}. Whoever opens both takes the noise apart, so this one is not "
                  "opened. The coordinator has signed two lists of contributions, or its folder was "
                  "restored from an older copy: ask it which, and tell the others.",
                  own.number, to_hex(*known), to_hex(seal->id)));
}

void Act::give_receipt(const release::SignedHeader& statement, std::optional<release::Found> found) {
  const release::SignedHeader header = release::receipt_of(round, statement, {true, found});
  out.push_back(receipt.bind(release::message_bytes(release::sign(header, job.key))));
}

void Act::acknowledge_abandonment() {
  if (!receipt.sent(out)) give_receipt(abandonment.value(), std::nullopt);
}

}  // namespace holder

std::unique_ptr<Role> make_holder(const ProposedRound& round, const HolderJob& job) {
  return std::make_unique<RoleMachine<holder::Act, holder::State>>(round, job);
}

}  // namespace muffle::round
