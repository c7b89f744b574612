#include <fmt/format.h>

#include <chrono>
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

namespace muffle::app {
namespace {

namespace fs = std::filesystem;
using release::Consortium;
using release::Message;
using release::ProposedRound;
using release::SignedHeader;

/// So few round keys may be left that no proposal names before new ones are made.
constexpr std::size_t kFewRoundKeys = 4;
std::uint64_t seconds_now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

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

/// What the site's verbs about one round work with.
struct AtHand {
  explicit AtHand(const PartyCommand& command)
      : store(site::KeyStore::open(command.folder)),
        config(load_party(command.folder, true)),
        with_torch(command.with_torch),
        exchange(exchange_of(command, config)),
        round(round::find_round(*exchange, command.round)),
        self{store.key().name(), store.key().public_key()} {}

  site::Verdict verdict() const {
    const round::Membership members = members_of(store, *exchange);
    const std::vector<SignedHeader> approvals = kept_approvals(store.folder(), round);
    const privacy::LedgerState ledger = config.ledger_state();
    return policy_verdict(config.policy(), site::Pins::load(store.folder()),
                          {round, self, members.charters, members.round_keys, approvals, ledger, with_torch,
                           taking_part(round, *exchange), seconds_now()});
  }

  site::KeyStore store;
  PartyConfig config;
  bool with_torch;
  std::unique_ptr<round::Exchange> exchange;
  ProposedRound round;
  crypto::SignerKey self;
};

void print_verdict(const site::Verdict& verdict, std::ostream& out) {
  using Outcome = site::Ruling::Outcome;
  for (const site::Ruling& r : verdict.rulings)
    out << fmt::format("  {:8} {:22} {}\n",
                       r.outcome == Outcome::kKept    ? "ok"
                       : r.outcome == Outcome::kWaits ? "WAITS"
                                                      : "REFUSED",
                       r.rule, r.text);
  using Answer = site::Verdict::Answer;
  out << (verdict.answer == Answer::kYes ? "The policy says yes: the next `muffle site step` contributes.\n"
          : verdict.answer == Answer::kWait
              ? "The policy waits for what is marked.\n"
              : fmt::format("The policy declines, and will say so with the code '{}'.\n",
                            name_of(verdict.code)));
}

void show(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  out << round::proposal_in_words(at.round);
  if (!at.round.site(at.self.key)) {
    out << (at.round.holder(at.self.key) ? "This party opens the sum, and has no records in it.\n"
                                         : "This site is not invited.\n");
    return;
  }
  out << "policy of this site:\n";
  print_verdict(at.verdict(), out);
  if (has_declined(command.folder, at.round)) out << "This site has declined the round.\n";
}

void approve(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  const crypto::SiteKey person = crypto::SiteKey::load(command.key);
  // A proposal can call any round its first, also one that says something else.
  if (at.round.proposal.later)
    throw ConfigError(fmt::format("this is a later round of a release: people approve its first one, {}.",
                                  release::short_id(at.round.first())));
  const std::vector<std::string>& approvers = at.config.policy().approvers;
  if (std::ranges::none_of(approvers, [&](const std::string& line) {
        return crypto::parse_signer_key(line, "policy.approvers").key == person.public_key();
      }))
    throw ConfigError(
        fmt::format("'{}' is none of policy.approvers of {}: the approval would count for nothing.",
                    person.name(), party_file(command.folder, true).string()));
  if (!at.round.site(at.self.key))
    throw ConfigError("this site is not invited: there is nothing to approve.");
  const std::string bytes =
      message_bytes(sign(approval_of(at.round, at.self.key, seconds_now() / 86400), person));
  write_file_atomically(approval_file(command.folder, at.round, person.public_key()), bytes);
  out << round::proposal_in_words(at.round)
      << fmt::format("{} has approved it for this site.\n", person.name());
  print_verdict(at.verdict(), out);
}

void decline(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  if (!at.round.site(at.self.key))
    throw ConfigError("this site is not invited: there is nothing to decline.");
  const std::string contribution = release::contribution_name(at.round.id, at.self.key);
  if (at.exchange->get(contribution, release::most_bytes(at.round.length)) ||
      is_there(at.store.folder() / "outbox" / contribution, "the contribution", "Nothing was declined."))
    throw ConfigError(fmt::format(
        "this site has contributed to the round, '{}': what was sent cannot be taken back.", contribution));
  const auto codes = release::decline_codes();
  decline_round(at.store, *at.exchange, at.round,
                static_cast<release::DeclineCode>(std::ranges::find(codes, command.code) - codes.begin()));
  out << fmt::format("This site has declined the round {}; all can see that, and the code.\n",
                     release::short_id(at.round.id));
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
  if (verb == "site show") return show(command, out);
  if (verb == "site approve") return approve(command, out);
  if (verb == "site decline") return decline(command, out);
  if (verb == "round show") return show_files(command, out);
  require(verb == "round status", "no such verb of a party: this is a bug in muffle.");
  status(command, out);
}

}  // namespace muffle::app
