// The options of the parties of a consortium: muffle site, coordinator and round.
#include "command_line.hpp"
#include "options.hpp"

namespace muffle::app {
namespace {

/// From seconds, for trials, to years.
const CLI::Range kDays(0.00001, 3650.0);

/// A verb of a party's: which it is, in whose folder, and where the messages lie.
CLI::App& party_verb(CLI::App& command, PartyCommand& party, const char* name, const char* help,
                     bool in_folder = true) {
  CLI::App* verb = command.add_subcommand(name, help);
  verb->callback([&party, &command, verb] { party.verb = command.get_name() + " " + verb->get_name(); });
  Options o(*verb);
  if (in_folder)
    o.preset("--" + command.get_name(), party.folder, "DIR",
             "the " + command.get_name() + "'s folder (muffle " + command.get_name() + " init)");
  o.value("--exchange", party.exchange, "DIR",
          "where the messages lie; default: site.exchange of its settings");
  return *verb;
}

CLI::App& add_sync(CLI::App& command, PartyCommand& party) {
  return party_verb(
      command, party, "sync",
      "carry messages between this folder and the server that site.exchange names; the network's part alone");
}

void round_of(CLI::App& verb, PartyCommand& party) {
  Options(verb).value("round", party.round, "ROUND",
                      "the first digits of the round's id, 4 or more; may be left out where there is one");
}

}  // namespace

void PartyCommandLine::add_site() {
  auto* command = app_.add_subcommand(
      "site", "take part in rounds between institutions, as one that holds records or opens sums");
  command->require_subcommand(1);
  PartyCommand& p = party;
  auto& init = party_verb(*command, p, "init", "make a site's folder: keys, card, commented settings", false);
  Options i(init);
  i.value("-o,--out", p.folder, "DIR", "the folder")->required();
  i.value("--name", p.name, "NAME", "the site's name in the consortium")->required();
  init.add_flag("--key-holder", p.key_holder, "it opens sums, too, and gets round keys");
  init.add_flag("--no-records", p.no_records, "it holds no records, such as a regulator that opens sums");
  i.value("--ledger", p.ledger, "FILE",
          "go on with the privacy ledger of these records: of a site that lost its keys");
  i.repeated("--approver", p.approvers, "FILE",
             "a person's .pub file (muffle keygen), who must approve every round; may be given again");
  party_verb(*command, p, "card",
             "print the site's name, roles and fingerprint, to be read out by telephone");
  auto& pin = party_verb(*command, p, "pin", "note that a party's fingerprint is what its people say it is");
  auto& join = party_verb(*command, p, "join",
                          "put the card and round keys into the exchange; accept the charter that is there");
  (void)join;
  auto& step =
      party_verb(*command, p, "step",
                 "what is next in its rounds: contribute, open the sum, send a receipt; safe to be called "
                 "again, and to be cut off");
  auto& run = party_verb(*command, p, "run", "step again and again, until its rounds are released");
  Options(run).preset("--every", p.every_s, "SECONDS", "between two steps")->check(CLI::Range(0.1, 1e6));
  for (CLI::App* verb : {&step, &run})
    Options(*verb).value("round", p.round, "ROUND",
                         "the first digits of the round's id, 4 or more; default: all of its rounds");
  add_sync(*command, p)
      .add_flag("--evidence", p.evidence,
                "fetch all messages, also those that no step of this site reads, such as the others' "
                "contributions: for `muffle verify --evidence`");
  auto& show = party_verb(*command, p, "show", "a proposal in words, and what the site's policy says of it");
  auto& approve = party_verb(*command, p, "approve", "a person approves a round; kept in the site's folder");
  auto& decline = party_verb(*command, p, "decline", "the site takes no part in a round, and says so");
  Options(pin).value("name", p.name, "NAME", "whose card")->required();
  Options(pin).value("--words", p.words, "WORDS", "the fingerprint that its people read out")->required();
  pin.add_flag(
      "--replaces", p.replaces,
      "its people say that this key replaces the one that is pinned, which stays good for rounds that "
      "were proposed for it");
  for (CLI::App* verb : {&show, &approve, &decline}) round_of(*verb, p);
  Options(approve).value("--key", p.key, "FILE", "the person's key file (muffle keygen)")->required();
  approve.add_flag("--opening", p.opening,
                   "of a key holder: that it opens the sum of what the coordinator has sealed");
  Options(decline).value(
      "--key", p.key, "FILE",
      "the key file of the person who decides it: kept in the site's folder, and told nobody");
  const auto codes = release::decline_codes();
  Options(decline)
      .preset("--code", p.code, "CODE", "why, for all to see")
      ->check(CLI::IsMember(std::vector<std::string>(codes.begin(), codes.end())));
}

void PartyCommandLine::add_coordinator() {
  auto* command = app_.add_subcommand("coordinator", "write a consortium's charter, and propose rounds");
  command->require_subcommand(1);
  PartyCommand& p = party;
  auto& init = party_verb(*command, p, "init", "make the coordinator's folder: keys, card, settings", false);
  Options i(init);
  i.value("-o,--out", p.folder, "DIR", "the folder")->required();
  i.value("--name", p.name, "NAME", "the coordinator's name in the consortium")->required();
  party_verb(*command, p, "card",
             "print the coordinator's name and fingerprint, to be read out by telephone");
  auto& admit =
      party_verb(*command, p, "admit", "note that a card's fingerprint is what its people say it is");
  Options(admit).value("name", p.name, "NAME", "whose card")->required();
  Options(admit).value("--words", p.words, "WORDS", "the fingerprint that its people read out")->required();
  admit.add_flag("--replaces", p.replaces,
                 "its people say that this key replaces the one that was admitted; that one is not revoked");
  auto& charter =
      party_verb(*command, p, "charter", "write the charter's next version: all who are admitted");
  Options c(charter);
  c.value("--title", p.title, "TEXT", "the consortium's name; default: as before");
  c.value("--admission", p.admission, "TEXT", "how members are admitted, for people; default: as before");
  c.repeated("--revoke", p.revoke, "NAME",
             "a member whose key may take part in nothing any more; of a key that was replaced, its "
             "fingerprint");
  auto& propose = party_verb(*command, p, "propose",
                             "propose a round: what is released, by whom, with which noise; refuses what the "
                             "theorem does not cover");
  Options o(propose);
  CLI::Option* const config = o.sources(sources);
  o.guarantee(sources);
  CLI::Option* const title = o.value("--title", p.title, "TEXT", "what the round is for, for people");
  o.value(
       "--after", p.after, "ROUND",
       "propose the next round of a release (privacy.rounds): the first digits of the one whose noisy sum is "
       "there; all but the deadlines is as it was proposed first")
      ->excludes(config)
      ->excludes(title);
  o.repeated("--invite", p.wishes.sites, "NAME", "a site; given again: a further one. Default: all");
  o.repeated("--holder", p.wishes.holders, "NAME",
             "a key holder; given again: a further one. Default: the first 3, of more than 7 sites 5");
  o.value("--least", p.wishes.least, "K", "fewer contributions make no release; default: all but one");
  o.value("--expected", p.wishes.expected, "N", "how many usually come; default: all");
  o.value("--colluding", p.wishes.colluding, "T", "how many sites may pool what they know; default: 1 or 2");
  o.value("--colluding-holders", p.wishes.colluding_holders, "T_H", "how many key holders may; default: 1");
  o.value("--missing-holders", p.wishes.missing_holders, "F",
          "how many key holders may be missing: the others stand in for them; default: 0, of more than 7 "
          "sites 1");
  o.preset("--days", p.contribute_days, "DAYS", "for contributions, from now")->check(kDays);
  o.preset("--open-days", p.open_days, "DAYS", "for openings, after that")->check(kDays);
  o.preset("--stand-in-days", p.stand_in_days, "DAYS", "for stand-ins, after that")->check(kDays);
  propose.add_flag("--dry-run", p.dry_run, "say what would be proposed; propose nothing");
  auto& step = party_verb(*command, p, "step",
                          "what is next in its rounds: seal, add up, release; safe to be called again");
  Options(step).value("round", p.round, "ROUND",
                      "the first digits of the round's id, 4 or more; default: all of its rounds");
  auto& abandon = party_verb(*command, p, "abandon",
                             "give a round up, for all to see: nothing more is sealed, opened or released in "
                             "it, and what was charged stays charged");
  round_of(abandon, p);
  const auto codes = release::abandon_codes();
  Options(abandon)
      .preset("--code", p.code, "CODE", "why, for all to see")
      ->check(CLI::IsMember(std::vector<std::string>(codes.begin(), codes.end())));
  (void)add_sync(*command, p);
  auto* serve =
      command->add_subcommand("serve", "the folder of messages over HTTPS; it has no state of its own");
  serve->callback([&p] { p.verb = "coordinator serve"; });
  Options s(*serve);
  s.value("--round", p.serve.folder, "DIR", "the folder where the messages lie")->required();
  s.value("--listen", p.serve.listen, "ADDRESS:PORT", "such as 0.0.0.0:8443")->required();
  s.value(
      "--cert", p.serve.cert, "FILE",
      "the server's certificate, PEM, with intermediates; without one: plain HTTP, on this machine alone");
  s.value("--key", p.serve.key, "FILE", "its key, PEM");
  s.value("--client-ca", p.serve.client_ca, "FILE", "clients show certificates of these authorities, PEM");
}

void PartyCommandLine::add_round() {
  auto* command = app_.add_subcommand("round", "look at rounds between institutions");
  command->require_subcommand(1);
  auto* status =
      command->add_subcommand("status", "who has answered, deadlines, what was kept aside; no value");
  status->callback([this] { party.verb = "round status"; });
  Options o(*status);
  o.value("exchange", party.exchange, "DIR", "where the messages lie")->required();
  o.value("--round", party.round, "ROUND", "the first digits of one round's id; default: all rounds");
  o.value("--html", party.html, "FILE", "write a page, too, such as status.html");
  auto* show = command->add_subcommand(
      "show",
      "one file in words, for who lets it pass a firewall: kind, round, size, signer, what its numbers are");
  show->callback([this] { party.verb = "round show"; });
  Options(*show).value("file", party.files, "FILE", "messages, such as *-contribution-*.mfm")->required();
}

void PartyCommandLine::add_simulate() {
  auto* command = app_.add_subcommand(
      "simulate",
      "a round between institutions on this machine: each with a folder and keys, each act a process, a "
      "server over TLS on loopback between them");
  Options o(*command);
  o.sources(sources)->required();
  o.guarantee(sources);
  o.preset("--sites", simulate_.sites, "N", "among how many sites the records are dealt")
      ->check(CLI::Range(3, 1000));
  o.preset("--missing", simulate_.missing, "F",
           "key holders that do not open, in each round others: those who have opened stand in for them")
      ->check(CLI::Range(0, 2));
  o.preset("--wait", simulate_.wait_s, "SECONDS",
           "with --missing: how long contributions and openings may take; whoever is missing is noticed then")
      ->check(CLI::Range(1.0, 86400.0));
  command->add_flag("--folder", simulate_.folder, "all see one folder, as on a share: no server, no network");
  o.preset("--deadline", simulate_.deadline_s, "SECONDS", "how long one act may take: then it is ended")
      ->check(CLI::Range(1.0, 1e6));
  o.value("-o,--out", out, "DIR", "a new folder for all of them")->required();
}

}  // namespace muffle::app
