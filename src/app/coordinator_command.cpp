#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/draft.hpp"
#include "muffle/round/sync.hpp"
#include "muffle/site/pins.hpp"
#include "party_folder.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;
using release::Charter;
using release::Consortium;
using release::ProposedRound;
using release::SignedHeader;

void init_coordinator(const PartyCommand& command, std::ostream& out) {
  release::Card roles;
  roles.coordinator = true;
  const site::KeyStore store = init_party(command, roles, false, {});
  out << card_text(store);
  if (!command.exchange.empty()) {
    put_own(store, *round::make_exchange(round::working_exchange(command.folder, command.exchange)));
    out << "The card is in the exchange.\n";
  }
  out << "Next: read the fingerprint out to every member; admit them (muffle coordinator admit), then write "
         "the charter.\n";
}

/// The members by the next charter: the coordinator and all who are admitted, without those whose keys are
/// revoked.
std::vector<SignedHeader> cards_of(const site::KeyStore& store, const site::Pins& admitted,
                                   const round::Membership& members, const Charter& next) {
  std::vector<SignedHeader> cards{release::parse_message(store.card_bytes(), "card").header};
  for (const crypto::SignerKey& peer : admitted.peers) {
    if (std::ranges::count(next.revoked, peer.key) > 0) continue;
    const auto card = std::ranges::find(members.cards, peer.key, &SignedHeader::sender);
    if (card == members.cards.end())
      throw ConfigError(fmt::format("the card of '{}', who is admitted, is not in the exchange.", peer.name));
    cards.push_back(*card);
  }
  return cards;
}

void charter(const PartyCommand& command, std::ostream& out) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const auto exchange = exchange_of(command, load_party(command.folder, false));
  put_own(store, *exchange);
  const round::Membership members = members_of(store, *exchange);
  const site::Pins admitted = site::Pins::load(command.folder);
  const Consortium* before = members.newest(store.key().public_key());
  Charter next{.title = command.title, .admission = command.admission};
  if (before != nullptr) {
    next.version = before->charter.version + 1;
    next.previous = before->id;
    next.revoked = before->charter.revoked;
    if (command.title.empty()) next.title = before->charter.title;
    if (command.admission.empty()) next.admission = before->charter.admission;
  } else if (command.title.empty()) {
    throw UsageError("the first charter needs --title: the consortium's name.");
  }
  if (next.admission.empty()) next.admission = "the coordinator compared fingerprints with each member";
  for (const std::string& name : command.revoke) {
    const std::optional<crypto::Fingerprint> words = crypto::parse_fingerprint(name);
    const crypto::SignerKey* member = words ? admitted.with_fingerprint(*words) : admitted.peer(name);
    if (member == nullptr)
      throw ConfigError(fmt::format("'{}' is not admitted: its key cannot be revoked.", printable(name)));
    if (std::ranges::count(next.revoked, member->key) == 0) next.revoked.push_back(member->key);
  }
  next.cards = cards_of(store, admitted, members, next);
  if (before != nullptr && before->charter.cards == next.cards && before->charter.revoked == next.revoked &&
      before->charter.title == next.title && before->charter.admission == next.admission) {
    out << fmt::format("charter {} says all of that already.\n", before->charter.version);
    return;
  }
  SignedHeader header{.kind = release::MessageKind::kCharter};
  header.body = body_of(next);
  header = sign(std::move(header), store.key());
  const Consortium made(header, "the charter");  // what no member would accept is not sent
  if (before != nullptr) made.require_follows(*before);
  // First its own copy: what it has revoked once stays revoked, whatever becomes of the exchange.
  round::keep_charter({store.folder(), store.key().public_key()}, header);
  exchange->put(release::charter_name(next.version), message_bytes(header));
  out << fmt::format("charter {} of '{}':\n", next.version, printable(next.title));
  for (const Consortium::Member& member : made.members)
    out << fmt::format("  {:20} {}\n", member.card.name, roles_in_words(member.card));
  out << "Each member accepts it by `muffle site join`.\n";
}

/// The proposals of this coordinator: those that it kept, and those of the exchange.
std::vector<release::Proposal> earlier_proposals(const site::KeyStore& store, round::Exchange& exchange) {
  std::vector<release::Proposal> out;
  for (round::Proposals::Entry& entry : round::read_proposals(exchange).rounds) {
    if (entry.round.coordinator == store.key().public_key()) out.push_back(std::move(entry.round.proposal));
  }
  ensure_writable_folder(store.folder() / "proposals");
  const auto kept = round::make_exchange((store.folder() / "proposals").string());
  for (round::Proposals::Entry& entry : round::read_proposals(*kept).rounds)
    out.push_back(std::move(entry.round.proposal));
  return out;
}

/// Of a proposal that another one is to take the place of: who has contributed to it has drawn, and does not
/// again.
void require_given_up(const ProposedRound& round, round::Exchange& exchange) {
  const auto given_up = round::read_message(exchange, release::abandonment_name(round.id));
  if (!given_up)
    throw ConfigError(
        fmt::format("the round after that one is proposed already: {}.", release::short_id(round.id)));
  (void)release::check_abandonment(round, given_up->header);
  for (const crypto::SignerKey& site : round.proposal.sites) {
    if (exchange.get(release::contribution_name(round.id, site.key), release::most_bytes(round.length)))
      throw ConfigError(fmt::format(
          "the round after that one, {}, was abandoned after '{}' had contributed to it: a site draws once "
          "for a round, so this release cannot go on. What sites were charged stays charged.",
          release::short_id(round.id), site.name));
  }
}

/// The next round of a release: what it counts follows from the noisy sums before it.
round::Draft draft_next(const PartyCommand& command, const site::KeyStore& store, round::Exchange& exchange,
                        const round::Membership& members, const round::Wishes& wishes) {
  const ProposedRound before = round::find_round(exchange, command.after);
  if (before.coordinator != store.key().public_key())
    throw ConfigError("that round is another coordinator's.");
  if (before.last()) throw ConfigError("that round is the last, or the only one, of its release.");
  const std::vector<release::Proposal> proposals = earlier_proposals(store, exchange);
  for (const round::Proposals::Entry& entry : round::read_proposals(exchange).rounds) {
    const std::optional<release::LaterRound>& later = entry.round.proposal.later;
    if (!later || later->before != before.id || entry.round.coordinator != before.coordinator) continue;
    require_given_up(entry.round, exchange);
  }
  const auto read = [&](const std::string& name, std::uint64_t most) { return exchange.get(name, most); };
  std::vector<release::EndedRound> rounds = release::earlier_rounds(before, read);
  const auto message = [&](const std::string& name, std::uint64_t numbers) {
    const std::optional<std::string> bytes = exchange.get(name, release::most_bytes(name, numbers));
    if (!bytes) throw ConfigError("that round has no sum yet (`muffle coordinator step`).");
    return release::parse_message(*bytes, name);
  };
  const SignedHeader seal = message(release::seal_name(before.id), 0).header;
  rounds.emplace_back(before, seal, message(release::sum_name(before.id), before.length));
  release::ReleasePlan plan = before.proposal.plan;
  const release::Artifact so_far = release::released_before(plan, rounds);
  release::ReleasePlan next = plan;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    if (plan.maps[b].round == rounds.size() + 1)
      next.go_on_with(b, pair_graph::map_of_next_round(plan, b, so_far));
  }
  return round::draft_later(std::move(next), members, rounds, proposals, wishes);
}

round::Draft draft_first(ConfigSources sources, const site::KeyStore& store, round::Exchange& exchange,
                         const round::Membership& members, const round::Wishes& wishes) {
  if (sources.file.empty()) throw UsageError("a release needs --config; a later round of one, --after.");
  if (wishes.title.empty()) throw UsageError("a release needs --title: what it is for, for people.");
  // Where each site's records lie is the site's own.
  sources.kept.emplace("data.features", "\"at-the-sites\"");
  const Config config = load_config(sources, {.release = true});
  return round::draft_proposal(config.plan, members, store.key().public_key(),
                               earlier_proposals(store, exchange), wishes);
}

/// What a round, and those that follow it in its release, put into the exchange at most: a vector of each
/// party in each round, and what the coordinator makes of them.
std::uint64_t bytes_of(const release::Proposal& p) {
  const std::uint64_t numbers = p.later ? p.plan.of_round(p.number()).size() : p.plan.size();
  const std::uint64_t rounds = p.plan.rounds() - p.number() + 1;
  const std::uint64_t beside_numbers = (rounds - 1) * release::most_bytes(1);
  return (release::most_bytes(numbers) + beside_numbers) * (p.sites.size() + p.holders.size() + 2);
}

void propose(const ConfigSources& sources, const PartyCommand& command, std::ostream& out) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const PartyConfig config = load_party(command.folder, false);
  const auto exchange = exchange_of(command, config);
  round::Wishes wishes = command.wishes;
  wishes.title = command.title;
  const std::uint64_t now = seconds_now();
  constexpr double kDay = 86400;
  wishes.contribute_until = now + static_cast<std::uint64_t>(command.contribute_days * kDay);
  wishes.open_until = wishes.contribute_until + static_cast<std::uint64_t>(command.open_days * kDay);
  wishes.stand_in_until = wishes.open_until + static_cast<std::uint64_t>(command.stand_in_days * kDay);
  const round::Membership members = members_of(store, *exchange);
  const round::Draft draft = command.after.empty() ? draft_first(sources, store, *exchange, members, wishes)
                                                   : draft_next(command, store, *exchange, members, wishes);
  // Before anything is signed: a disk that fills up in the middle of a round would cost all sites their
  // charges.
  const std::uint64_t bytes = bytes_of(draft.proposal);
  require_room(
      round::working_exchange(config.folder, command.exchange.empty() ? config.exchange() : command.exchange),
      bytes);
  require_room(store.folder(), bytes / (draft.proposal.sites.size() + draft.proposal.holders.size() + 2) * 2);
  SignedHeader header{.kind = release::MessageKind::kProposal};
  header.body = body_of(draft.proposal);
  const std::string proposal = message_bytes(sign(std::move(header), store.key()));
  const ProposedRound round(release::parse_message(proposal, "the proposal"), "the proposal");
  out << round::proposal_in_words(round);
  for (const std::string& who : draft.left_out) out << fmt::format("left out: {}\n", who);
  out << fmt::format("in the folder: {} bytes at most\n", bytes);
  if (command.dry_run) {
    out << "Nothing was proposed (--dry-run).\n";
    return;
  }
  // First its own copy: a round key that was named once is named in no other proposal.
  write_file_atomically(store.folder() / "proposals" / release::proposal_name(round.id), proposal);
  exchange->put(release::proposal_name(round.id), proposal);
  out << "Proposed. Each site: `muffle site show`, then `muffle site approve` or `decline`, then `muffle "
         "site step`.\n";
}

}  // namespace

void coordinator_command(const ConfigSources& sources, const PartyCommand& command, std::ostream& out) {
  const std::string& verb = command.verb;
  if (verb == "coordinator init") return init_coordinator(command, out);
  if (verb == "coordinator card") {
    out << card_text(site::KeyStore::open(command.folder));
    return;
  }
  if (verb == "coordinator admit") return pin(command, false, out);
  if (verb == "coordinator charter") return charter(command, out);
  require(verb == "coordinator propose", "no such verb of a coordinator: this is a bug in muffle.");
  propose(sources, command, out);
}

}  // namespace muffle::app
