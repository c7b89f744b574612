#include <fmt/format.h>

#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/http/certificates.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/message_words.hpp"
#include "muffle/round/status.hpp"
#include "muffle/round/sync.hpp"
#include "muffle/site/key_store.hpp"
#include "party_folder.hpp"
#include "site_consent.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;
using release::Consortium;
using release::Message;
using release::ProposedRound;
using release::SignedHeader;

/// So few round keys may be left that no proposal names before new ones are made.
constexpr std::size_t kFewRoundKeys = 4;

void init_site(const PartyCommand& command, std::ostream& out) {
  if (command.no_records && !command.key_holder)
    throw UsageError("--no-records needs --key-holder: a site either holds records or opens sums, or both.");
  std::vector<std::string> approvers;
  for (const std::string& file : command.approvers) {
    const crypto::SignerKey person = crypto::parse_signer_key(read_file(file, 1 << 16), file);
    approvers.push_back(settings::toml_string(person.name + " " + to_hex(person.key)));
  }
  std::string data_id = command.name, ledger = "ledger.jsonl";
  std::size_t charges = 0;
  if (!command.ledger.empty()) {
    const privacy::LedgerState state = privacy::read_ledger(command.ledger);
    data_id = state.data_id;
    ledger = fs::absolute(command.ledger).lexically_normal().string();
    charges = state.charges.size();
  }
  release::Card roles;
  roles.site = !command.no_records;
  roles.key_holder = command.key_holder;
  const std::map<std::string, std::string> values = {
      {"data.id", settings::toml_string(data_id)},
      {"privacy.ledger", settings::toml_string(ledger)},
      {"policy.approvals", fmt::format("{}", approvers.size())},
      {"policy.approvers", fmt::format("[{}]", fmt::join(approvers, ", "))}};
  site::KeyStore store = init_party(command, roles, true, values);
  if (command.key_holder) (void)store.make_round_keys();
  const bool asks = http::request_client_certificate(fs::path(command.folder) / "keys" / "tls.key",
                                                     fs::path(command.folder) / "tls.csr", command.name);
  out << card_text(store);
  if (!command.ledger.empty())
    out << fmt::format("The ledger {} of '{}' goes on: {} charge{} so far.\n", ledger, data_id, charges,
                       charges == 1 ? "" : "s");
  if (asks)
    out << "tls.csr asks for a certificate of TLS, should the coordinator's server want to see one.\n";
  if (!command.exchange.empty()) {
    put_own(store, *round::make_exchange(round::working_exchange(command.folder, command.exchange)));
    out << "The card" << (command.key_holder ? " and round keys are" : " is") << " in the exchange.\n";
  }
  out << fmt::format(
      "Next: say in {} where the records lie and what a round may cost; read the fingerprint out to the "
      "coordinator and the other members, and pin theirs (muffle site pin).\n",
      party_file(command.folder, true).string());
}

/// Whether so many round keys are still free that no proposal of the exchange names.
bool has_free_keys(const site::KeyStore& store, const round::Membership& members,
                   const round::Proposals& proposals) {
  std::size_t free = 0;
  for (const SignedHeader& header : members.round_keys) {
    if (header.sender != store.key().public_key()) continue;
    const release::RoundKeys keys = release::read_round_keys(header, "round keys");
    for (std::size_t i = 0; i < keys.points.size(); ++i) {
      const bool named = std::ranges::any_of(proposals.rounds, [&](const round::Proposals::Entry& entry) {
        return std::ranges::any_of(entry.round.proposal.holders, [&](const release::HolderKey& h) {
          return h.holder.key == header.sender && h.number == keys.first + i;
        });
      });
      if (!named && store.has_round_key(keys.first + i)) ++free;
    }
  }
  return free >= kFewRoundKeys;
}

/// Accepts the newest charter of the pinned coordinator, if this site is in it.
void countersign(const site::KeyStore& store, const site::Pins& pins, round::Exchange& exchange,
                 const round::Membership& members, std::ostream& out) {
  if (!pins.coordinator) {
    out << "No coordinator is pinned, so no charter was accepted: `muffle site pin` its name, then join "
           "again.\n";
    return;
  }
  const Consortium* charter = members.newest(pins.coordinator->key);
  if (charter == nullptr) {
    out << fmt::format("There is no charter of '{}' yet: join again when there is.\n",
                       pins.coordinator->name);
    return;
  }
  const Consortium::Member* self = charter->find(store.key().public_key());
  if (self == nullptr || self->card != store.card())
    throw ConfigError(
        fmt::format("charter {} of '{}' {}. It was not accepted; tell the coordinator.",
                    charter->charter.version, printable(charter->charter.title),
                    self == nullptr ? "does not have this site" : "has another card of this site"));
  out << fmt::format("charter {} of '{}': {}\n", charter->charter.version, printable(charter->charter.title),
                     printable(charter->charter.admission));
  for (const Consortium::Member& member : charter->members) {
    const bool known =
        member.key == self->key || member.key == charter->coordinator || pins.knows(member.key);
    out << fmt::format("  {:20} {:22} {}\n", member.card.name, roles_in_words(member.card),
                       known ? "" : "NOT pinned: counts as curious in every round");
  }
  const std::string name = release::countersignature_name(charter->charter.version, self->key);
  exchange.put(name, message_bytes(sign(countersignature_of(*charter), store.key())));
  out << "This site has accepted it.\n";
}

void join(const PartyCommand& command, std::ostream& out) {
  site::KeyStore store = site::KeyStore::open(command.folder);
  const PartyConfig config = load_party(command.folder, true);
  const auto exchange = exchange_of(command, config);
  put_own(store, *exchange);
  round::Membership members = members_of(store, *exchange);
  if (store.card().key_holder && !has_free_keys(store, members, round::read_proposals(*exchange))) {
    (void)store.make_round_keys();
    put_own(store, *exchange);
    out << fmt::format("{} new round keys were made and published.\n", release::kRoundKeysAtATime);
  }
  countersign(store, site::Pins::load(command.folder), *exchange, members, out);
}

void show_files(const PartyCommand& command, std::ostream& out) {
  constexpr std::size_t kMostFile = std::size_t{1} << 30;
  const char* between = "";
  for (const std::string& file : command.files) {
    out << between << release::message_in_words(file, read_file(file, kMostFile));
    between = "\n";
  }
}

void status(const PartyCommand& command, std::ostream& out) {
  const auto exchange = round::make_exchange(command.exchange);
  std::vector<round::RoundStatus> rounds;
  std::vector<round::SetAside> aside = round::read_membership(*exchange).set_aside;
  if (command.round.empty()) {
    round::Proposals proposals = round::read_proposals(*exchange);
    for (const round::Proposals::Entry& entry : proposals.rounds)
      rounds.push_back(round::read_status(*exchange, entry.round, seconds_now()));
    aside.insert(aside.end(), proposals.set_aside.begin(), proposals.set_aside.end());
  } else {
    rounds.push_back(
        round::read_status(*exchange, round::find_round(*exchange, command.round), seconds_now()));
  }
  if (rounds.empty()) out << "There is no proposal yet.\n";
  for (const round::RoundStatus& s : rounds) out << round::status_text(s);
  for (const round::SetAside& a : aside)
    out << fmt::format("kept aside  {}: {}\n", printable(a.name), printable(a.why));
  if (!command.html.empty()) write_file_atomically(command.html, round::status_html(rounds, aside));
}

}  // namespace

void party_command(const ConfigSources& sources, const PartyCommand& command, std::ostream& out) {
  const std::string& verb = command.verb;
  if (verb == "coordinator step" || verb == "coordinator abandon")
    return coordinator_step_command(command, out);
  if (verb == "coordinator serve") return serve(command.serve, out);
  if (verb.ends_with(" sync")) return sync_party(command, verb == "site sync", out);
  if (verb.starts_with("coordinator ")) return coordinator_command(sources, command, out);
  if (verb == "site init") return init_site(command, out);
  if (verb == "site card") {
    out << card_text(site::KeyStore::open(command.folder));
    return;
  }
  if (verb == "site pin") return pin(command, true, out);
  if (verb == "site join") return join(command, out);
  if (verb == "site show") return show_round(command, out);
  if (verb == "site approve") return command.opening ? approve_opening(command, out) : approve(command, out);
  if (verb == "site decline") return decline(command, out);
  if (verb == "round show") return show_files(command, out);
  require(verb == "round status", "no such verb of a party: this is a bug in muffle.");
  status(command, out);
}

}  // namespace muffle::app
