#include "site_consent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/site/key_store.hpp"
#include "muffle/site/pins.hpp"
#include "party_folder.hpp"

namespace muffle::app {
namespace {

using release::ProposedRound;
using release::SignedHeader;

/// What these verbs work with.
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
                           taking_part(round, *exchange), seconds_now(), networks_of(round, config)});
  }

  /// What the coordinator counts; none: it has not sealed. @throws ProtocolError  what lies there is no seal.
  std::optional<release::SealedRound> seal() const {
    const auto message = round::read_message(*exchange, release::seal_name(round.id));
    if (!message) return std::nullopt;
    return release::SealedRound(round, message->header);
  }

  /// A person whose word the policy asks for. @throws ConfigError  it does not.
  crypto::SiteKey approver(const std::string& file) const {
    crypto::SiteKey person = crypto::SiteKey::load(file);
    const std::vector<std::string>& approvers = config.policy().approvers;
    if (std::ranges::none_of(approvers, [&](const std::string& line) {
          return crypto::parse_signer_key(line, "policy.approvers").key == person.public_key();
        }))
      throw ConfigError(
          fmt::format("'{}' is none of policy.approvers of {}: that word would count for nothing.",
                      person.name(), party_file(store.folder(), true).string()));
    return person;
  }

  std::uint64_t day() const { return seconds_now() / 86400; }

  site::KeyStore store;
  PartyConfig config;
  bool with_torch;
  std::unique_ptr<round::Exchange> exchange;
  ProposedRound round;
  crypto::SignerKey self;
};

void print_ruling(const site::Ruling& r, std::ostream& out) {
  using Outcome = site::Ruling::Outcome;
  out << fmt::format("  {:8} {:22} {}\n",
                     r.outcome == Outcome::kKept    ? "ok"
                     : r.outcome == Outcome::kWaits ? "WAITS"
                                                    : "REFUSED",
                     r.rule, r.text);
}

void print_verdict(const site::Verdict& verdict, std::ostream& out) {
  for (const site::Ruling& r : verdict.rulings) print_ruling(r, out);
  using Answer = site::Verdict::Answer;
  out << (verdict.answer == Answer::kYes ? "The policy says yes: the next `muffle site step` contributes.\n"
          : verdict.answer == Answer::kWait
              ? "The policy waits for what is marked.\n"
              : fmt::format("The policy declines, and will say so with the code '{}'.\n",
                            name_of(verdict.code)));
}

/// What a person who lets a key holder open looks at.
void print_seal(const AtHand& at, const release::SealedRound& seal, std::ostream& out) {
  std::vector<std::string> counted, left_out;
  for (std::size_t i = 0; i < at.round.proposal.sites.size(); ++i)
    (std::ranges::binary_search(seal.sites, i) ? counted : left_out)
        .push_back(at.round.proposal.sites[i].name);
  out << fmt::format("sealed: {} contributions count: {}{}\n", counted.size(), fmt::join(counted, ", "),
                     left_out.empty() ? "" : fmt::format("; without {}", fmt::join(left_out, ", ")));
}

void print_opening(const AtHand& at, const std::optional<release::SealedRound>& seal, std::ostream& out) {
  if (!at.round.holder(at.self.key) || at.config.policy().opening_approvals == 0) return;
  if (!seal) {
    out << "People approve this key holder's opening once the round is sealed (muffle site approve "
           "--opening).\n";
    return;
  }
  print_seal(at, *seal, out);
  print_ruling(opening_ruling(at.config.policy(), at.round, *seal, at.self.key,
                              kept_approvals(at.store.folder(), at.round)),
               out);
}

}  // namespace

void show_round(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  out << round::proposal_in_words(at.round);
  if (at.round.site(at.self.key)) {
    out << "policy of this site:\n";
    print_verdict(at.verdict(), out);
    if (has_declined(command.folder, at.round)) out << "This site has declined the round.\n";
    for (const SignedHeader& word : kept_declines(command.folder, at.round)) {
      for (const std::string& line : at.config.policy().approvers) {
        const crypto::SignerKey person = crypto::parse_signer_key(line, "policy.approvers");
        if (person.key == word.sender)
          out << fmt::format("{} said so on {}.\n", person.name,
                             round::date_in_words(release::approved_on(word) * 86400).substr(0, 10));
      }
    }
  } else {
    out << (at.round.holder(at.self.key) ? "This party opens the sum, and has no records in it.\n"
                                         : "This site is not invited.\n");
  }
  print_opening(at, at.seal(), out);
}

void approve(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  // A proposal can call any round its first, also one that says something else.
  if (at.round.proposal.later)
    throw ConfigError(fmt::format("this is a later round of a release: people approve its first one, {}.",
                                  release::short_id(at.round.first())));
  const crypto::SiteKey person = at.approver(command.key);
  if (!at.round.site(at.self.key))
    throw ConfigError("this site is not invited: there is nothing to approve.");
  write_file_atomically(approval_file(command.folder, at.round, person.public_key()),
                        message_bytes(sign(approval_of(at.round, at.self.key, at.day()), person)));
  out << round::proposal_in_words(at.round)
      << fmt::format("{} has approved it for this site.\n", person.name());
  print_verdict(at.verdict(), out);
}

void approve_opening(const PartyCommand& command, std::ostream& out) {
  const AtHand at(command);
  const crypto::SiteKey person = at.approver(command.key);
  if (!at.round.holder(at.self.key))
    throw ConfigError("this party is no key holder of the round: there is nothing to open.");
  const std::optional<release::SealedRound> seal = at.seal();
  if (!seal)
    throw ConfigError(
        "the coordinator has not sealed the round yet: what is opened, and who is in it, the seal says.");
  write_file_atomically(
      opening_approval_file(command.folder, at.round, person.public_key()),
      message_bytes(sign(opening_approval_of(at.round, seal->id, at.self.key, at.day()), person)));
  out << round::proposal_in_words(at.round)
      << fmt::format("{} has approved that this key holder opens the sum.\n", person.name());
  print_opening(at, seal, out);
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
  const auto code = static_cast<release::DeclineCode>(std::ranges::find(codes, command.code) - codes.begin());
  if (!command.key.empty()) {
    const crypto::SiteKey person = at.approver(command.key);
    write_file_atomically(
        personal_decline_file(command.folder, at.round, person.public_key()),
        message_bytes(sign(personal_decline_of(at.round, at.self.key, code, at.day()), person)));
    out << fmt::format("{} has declined it for this site; that stays here.\n", person.name());
  }
  const round::Letter letter = decline_of_site(at.store, at.round, code);
  at.exchange->put(letter.name, letter.bytes);
  out << fmt::format("This site has declined the round {}; all can see that, and the code.\n",
                     release::short_id(at.round.id));
}

}  // namespace muffle::app
