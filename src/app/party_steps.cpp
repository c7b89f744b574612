#include "party_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "approved_seals.hpp"
#include "muffle/core/text.hpp"
#include "muffle/embed/self_check.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/site/pins.hpp"

namespace muffle::app {

using release::ProposedRound;

void Outcome::add(const ProposedRound& round, std::string_view role, const round::StepReport& report) {
  text +=
      fmt::format("round {} ({}), {}\n", release::short_id(round.id), printable(round.proposal.title), role);
  for (const std::string& line : report.done) text += fmt::format("  {}\n", printable(line));
  for (const std::string& line : report.waits) text += fmt::format("  waits for {}\n", printable(line));
  for (const std::string& line : report.aside) text += fmt::format("  kept aside {}\n", printable(line));
  if (report.done.empty() && report.waits.empty()) text += "  nothing more to do\n";
  const release::Proposal& p = round.proposal;
  const std::uint64_t now = seconds_now();
  if (report.lost) {
    gone.insert(round.id);
    lost = lost || now <= p.last_day();
  } else if (!report.waits.empty()) {
    waiting.insert(round.id);
    for (const std::uint64_t deadline : {p.contribute_until, p.open_until, p.last_day()}) {
      if (now <= deadline) next_deadline = std::min(next_deadline, deadline);
    }
  }
}

void Outcome::stop(const ProposedRound& round, std::string_view role, const Error& why) {
  text += fmt::format("round {} ({}), {}\n  stopped: {}\n", release::short_id(round.id),
                      printable(round.proposal.title), role, why.what());
  if (!error) error = why;
}

PartySteps::PartySteps(const PartyCommand& command, PartyConfig config, comm::HostComm& comm,
                       job::SiteRanks& ranks)
    : store_(site::KeyStore::open(command.folder)),
      config_(std::move(config)),
      comm_(comm),
      ranks_(ranks),
      with_torch_(command.with_torch),
      exchange_(exchange_of(command, config_)) {}

Outcome PartySteps::step(const std::string& digits) {
  Outcome out;
  members_ = members_of(store_, *exchange_);
  const round::Proposals all = round::read_proposals(*exchange_);
  std::optional<ProtocolError> restored;
  for (const round::Proposals::Entry& entry : all.rounds) {
    if (!restored && entry.round.site(store_.key().public_key()) &&
        !round::ledger_knows(entry.round, *exchange_, contributor_job(entry.round)))
      restored.emplace(fmt::format(
          "there is a contribution of this site to round {} that its ledger does not know: the ledger was "
          "restored from an older copy, or somebody else acts with the site's key. This site contributes "
          "to no round until the newest ledger is back: nothing was charged or drawn.",
          release::short_id(entry.round.id)));
  }
  const auto each = [&](const ProposedRound& round) {
    if (round.site(store_.key().public_key()))
      out.attempt(round, "as a site", [&] {
        if (restored) throw ProtocolError(*restored);
        return contribute(round);
      });
    if (round.holder(store_.key().public_key()))
      out.attempt(round, "as a key holder", [&] { return open(round); });
  };
  if (!digits.empty()) {
    each(round::find_round(*exchange_, digits));
  } else {
    for (const round::Proposals::Entry& entry : all.rounds) each(entry.round);
  }
  return out;
}

round::StepClock PartySteps::clock() const {
  return {seconds_now, kLockDeadline, [this] { comm_.check_peers("a site's step"); }};
}

round::ContributorJob PartySteps::contributor_job(const ProposedRound& round) {
  const privacy::LedgerSettings& settings = config_.config.ledger;
  std::optional<privacy::Budget> budget;
  if (settings.budget_epsilon)
    budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
  return {
      store_.key(),
      store_.folder(),
      {config_.ledger(), settings.data_id, budget, kLockDeadline},
      clock(),
      [&] { return verdict(round); },
      [&](const ProposedRound& asked) { return ranks_.sum(asked.proposal.plan, asked.proposal.number()); },
      {}};
}

round::StepReport PartySteps::contribute(const ProposedRound& round) {
  // Anybody's could name a round of ours as its first.
  if (const auto pinned = site::Pins::load(store_.folder()).coordinator;
      round.proposal.later && (!pinned || pinned->key != round.coordinator)) {
    round::StepReport report;
    report.done.push_back(
        "a later round by another coordinator than the pinned one: this site has no part in it");
    return report;
  }
  return round::contributor_step(round, *exchange_, contributor_job(round));
}

/// For the coordinator that a person has pinned: anybody's proposal could use a round key up.
round::StepReport PartySteps::open(const ProposedRound& round) {
  const auto pinned = site::Pins::load(store_.folder()).coordinator;
  if (!pinned || pinned->key != round.coordinator) {
    round::StepReport report;
    if (seconds_now() > round.proposal.open_until) return report;
    report.waits.push_back(
        "a person who pins its coordinator here (`muffle site pin`): no round key is used for anybody "
        "else");
    return report;
  }
  const site::Policy& policy = config_.policy();
  ApprovedSeals seals(*exchange_, round, [&](const release::SealedRound& seal) {
    const site::Ruling ruling = opening_ruling(policy, round, seal, store_.key().public_key(),
                                               kept_approvals(store_.folder(), round));
    return ruling.outcome == site::Ruling::Outcome::kKept
               ? std::nullopt
               : std::optional(fmt::format("{}: {}", ruling.rule, ruling.text));
  });
  round::StepReport report = round::holder_step(
      round, seals,
      {store_.key(),
       store_.folder(),
       clock(),
       [&](std::uint64_t number) { return store_.has_round_key(number); },
       [&](std::uint64_t number) { return store_.round_key(number); },
       [&](const release::HolderKey& key) { store_.erase_round_key(key.number, key.point); },
       round.shares_keys() ? store_.shares_file(round.id) : std::filesystem::path(),
       {},
       MUFFLE_VERSION});
  if (seals.waits() && !report.waits.empty())
    report.waits = {fmt::format("{}; the round ends {}", *seals.waits(),
                                round::date_in_words(round.proposal.open_until))};
  return report;
}

round::SiteVerdict PartySteps::verdict(const ProposedRound& round) {
  using Answer = round::SiteVerdict::Answer;
  if (has_declined(store_.folder(), round)) {
    // The one that was kept, if it never got there.
    return {Answer::kNo, "this site has declined",
            decline_of_site(store_, round, release::DeclineCode::kPerson)};
  }
  // It is asked again after hours of summing records, for what has become of settings and charters since.
  if (flatten(load_party(config_.folder, true).config) != flatten(config_.config))
    return {Answer::kWait, "the next step: the settings of this site were changed during this one"};
  members_ = members_of(store_, *exchange_);
  const std::vector<release::SignedHeader> approvals = kept_approvals(store_.folder(), round);
  const privacy::LedgerState ledger = config_.ledger_state();
  const site::Verdict verdict = policy_verdict(config_.policy(), site::Pins::load(store_.folder()),
                                               {round,
                                                {store_.key().name(), store_.key().public_key()},
                                                members_.charters,
                                                members_.round_keys,
                                                approvals,
                                                ledger,
                                                with_torch_,
                                                taking_part(round, *exchange_),
                                                seconds_now(),
                                                networks_of(round, config_)});
  if (verdict.answer == site::Verdict::Answer::kYes) return same_sums(round);
  if (verdict.answer == site::Verdict::Answer::kWait) return {Answer::kWait, verdict.why()};
  return {Answer::kNo, fmt::format("declined with the code '{}': {}", name_of(verdict.code), verdict.why()),
          decline_of_site(store_, round, verdict.code)};
}

/// Whether this muffle, on this processor, makes the sums that the proposal's muffle makes.
round::SiteVerdict PartySteps::same_sums(const ProposedRound& round) {
  using Answer = round::SiteVerdict::Answer;
  if (embed::self_check(round.summed) == round.proposal.self_check) return {Answer::kYes, ""};
  return {Answer::kNo,
          "declined with the code 'version': of the proposal's 64 made-up records this muffle, on this "
          "machine, makes other sums than the coordinator's, and would spoil the total. Compare versions and "
          "processors",
          decline_of_site(store_, round, release::DeclineCode::kVersion)};
}

}  // namespace muffle::app
