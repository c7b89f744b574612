// muffle site step and run, muffle coordinator step: what a party does next in its rounds, by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <optional>
#include <ostream>
#include <sstream>
#include <thread>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/text.hpp"
#include "muffle/http/settings.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/consortium_folder.hpp"
#include "muffle/round/step.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/site/key_store.hpp"
#include "muffle/site/pins.hpp"
#include "party_folder.hpp"

namespace muffle::app {
namespace {

using release::ProposedRound;

/// A number of records one after the other, while another step of the same party may be at work.
constexpr std::chrono::milliseconds kLockDeadline{60'000};

std::uint64_t clock_time() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

/// What one party's steps in all its rounds came to.
struct Outcome {
  std::string text;
  bool waits = false, lost = false;
  std::optional<Error> error;  ///< the first

  void add(const ProposedRound& round, std::string_view role, const round::StepReport& report) {
    text += fmt::format("round {} ({}), {}\n", release::short_id(round.id), printable(round.proposal.title),
                        role);
    for (const std::string& line : report.done) text += fmt::format("  {}\n", printable(line));
    for (const std::string& line : report.waits) text += fmt::format("  waits for {}\n", printable(line));
    for (const std::string& line : report.aside) text += fmt::format("  kept aside {}\n", printable(line));
    if (report.done.empty() && report.waits.empty()) text += "  nothing more to do\n";
    waits = waits || (!report.waits.empty() && !report.lost);
    lost = lost || (report.lost && clock_time() <= round.proposal.open_until);
  }
  /// One round's error does not keep the party from its other rounds.
  template <class Step>
  void attempt(const ProposedRound& round, std::string_view role, const Step& step) {
    try {
      add(round, role, step());
    } catch (const Error& e) {
      text += fmt::format("round {} ({}), {}\n  stopped: {}\n", release::short_id(round.id),
                          printable(round.proposal.title), role, e.what());
      if (!error) error = e;
    }
  }
};

/// The records of a site's own settings, read by the round's plan.
data::DataSpec records_for(const PartyConfig& config, const release::ReleasePlan& plan) {
  data::DataSpec spec = config.config.data;
  if (spec.schema.table && (!plan.schema.table ||
                            schema::table_hash(*spec.schema.table) != schema::table_hash(*plan.schema.table)))
    throw ConfigError(
        fmt::format("data.schema in {} is not the schema of the round's plan: compare them (`muffle schema "
                    "hash`, `muffle site "
                    "show`), and settle with the coordinator which is right. No record was read.",
                    party_file(config.folder, true).string()));
  spec.schema = plan.schema;
  spec.records = 0;
  spec.shards = data::ShardRule::kContiguous;
  if (plan.schema.table && plan.schema.table->person()) {
    spec.records_per_person = plan.max_records_per_person;
    spec.person_key = data::new_person_key();
  }
  return spec;
}

round::OwnSums sum_records(const PartyConfig& config, const release::ReleasePlan& plan) {
  const std::unique_ptr<data::RecordSource> source =
      data::open_shard(records_for(config, plan), config.config.party->part, config.config.party->parts);
  const std::int64_t asked = config.config.runtime.threads;
  const int threads = asked > 0 ? static_cast<int>(asked)
                                : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  set_compute_threads(threads);
  const bool counted = plan.adjacency == privacy::Adjacency::kReplaceOne;
  const std::uint64_t records = counted ? source->shard_size() : 0;
  return {embed::embed_shard(embed::make_embedder(plan), *source, threads, {}), records};
}

/// A site, or a key holder, with its folder open.
class Party {
 public:
  explicit Party(const PartyCommand& command)
      : store_(site::KeyStore::open(command.folder)),
        config_(load_party(command.folder, true)),
        exchange_(exchange_of(command, config_)) {}

  Outcome step(const std::string& digits) {
    Outcome out;
    members_ = round::read_membership(*exchange_);
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

 private:
  round::StepClock clock() const { return {clock_time(), kLockDeadline, {}}; }

  round::ContributorJob contributor_job(const ProposedRound& round) {
    const privacy::LedgerSettings& settings = config_.config.ledger;
    std::optional<privacy::Budget> budget;
    if (settings.budget_epsilon)
      budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
    return {store_.key(),
            store_.folder(),
            {config_.ledger(), settings.data_id, budget, kLockDeadline},
            clock(),
            [&] { return verdict(round); },
            [&](const release::ReleasePlan& plan) { return sum_records(config_, plan); },
            {}};
  }

  round::StepReport contribute(const ProposedRound& round) {
    return round::contributor_step(round, *exchange_, contributor_job(round));
  }

  /// For the coordinator that a person has pinned: anybody's proposal could use a round key up.
  round::StepReport open(const ProposedRound& round) {
    const auto pinned = site::Pins::load(store_.folder()).coordinator;
    if (!pinned || pinned->key != round.coordinator) {
      round::StepReport report;
      report.waits.push_back(
          "a person who pins its coordinator here (`muffle site pin`): no round key is used for anybody "
          "else");
      return report;
    }
    return round::holder_step(round, *exchange_,
                              {store_.key(),
                               store_.folder(),
                               clock(),
                               [&](std::uint64_t number) { return store_.has_round_key(number); },
                               [&](std::uint64_t number) { return store_.round_key(number); },
                               [&](std::uint64_t number) { store_.erase_round_key(number); },
                               round.shares_keys() ? store_.shares_file(round.id) : std::filesystem::path(),
                               {}});
  }

  round::SiteVerdict verdict(const ProposedRound& round) {
    using Answer = round::SiteVerdict::Answer;
    if (has_declined(store_.folder(), round)) {
      decline(round, release::DeclineCode::kPerson);  // the one that was kept, if it never got there
      return {Answer::kNo, "this site has declined"};
    }
    const std::vector<release::SignedHeader> approvals = kept_approvals(store_.folder(), round);
    const privacy::LedgerState ledger = config_.ledger_state();
    const site::Verdict verdict = policy_verdict(config_.policy(), site::Pins::load(store_.folder()),
                                                 {round,
                                                  {store_.key().name(), store_.key().public_key()},
                                                  members_.charters,
                                                  members_.round_keys,
                                                  approvals,
                                                  ledger});
    if (verdict.answer == site::Verdict::Answer::kYes) return {Answer::kYes, ""};
    if (verdict.answer == site::Verdict::Answer::kWait) return {Answer::kWait, verdict.why()};
    decline(round, verdict.code);
    return {Answer::kNo,
            fmt::format("declined with the code '{}': {}", name_of(verdict.code), verdict.why())};
  }

  void decline(const ProposedRound& round, release::DeclineCode code) {
    decline_round(store_, *exchange_, round, code);
  }

  site::KeyStore store_;
  PartyConfig config_;
  std::unique_ptr<round::Exchange> exchange_;
  round::Membership members_;
};

Outcome coordinator_step(const PartyCommand& command) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const auto exchange = exchange_of(command, load_party(command.folder, false));
  Outcome out;
  const auto each = [&](const ProposedRound& round) {
    if (round.coordinator != store.key().public_key()) return;
    out.attempt(round, "as the coordinator", [&] {
      return round::coordinator_step(
          round, *exchange, {store.key(), store.folder(), {clock_time(), kLockDeadline, {}}, MUFFLE_VERSION});
    });
  };
  if (!command.round.empty()) {
    each(round::find_round(*exchange, command.round));
  } else {
    for (const round::Proposals::Entry& entry : round::read_proposals(*exchange).rounds) each(entry.round);
  }
  return out;
}

/// Of a party whose exchange is a server: carries messages there and back. A network that is down for a while
/// ends nothing.
void carry(const PartyCommand& command, std::ostream& out) {
  if (!command.exchange.empty() || !http::is_address(load_party(command.folder, true).exchange())) return;
  try {
    std::ostringstream quiet;
    sync_party(command, true, quiet);
  } catch (const CommError& e) {
    out << fmt::format("the exchange was not reached: {}\n", e.what()) << std::flush;
  }
}

/// Says what was done; throws what stopped a round.
void tell(const Outcome& outcome, std::ostream& out) {
  out << (outcome.text.empty() ? "There is no round of this party in the exchange.\n" : outcome.text)
      << std::flush;
  if (outcome.error) throw *outcome.error;
  if (outcome.lost)
    throw CommError(
        "A round makes no release any more, or none with this party: see above. What was charged stays "
        "charged.");
}

}  // namespace

void step_command(const PartyCommand& command, std::ostream& out) {
  if (command.verb == "coordinator step") return tell(coordinator_step(command), out);
  if (command.verb == "site step") return tell(Party(command).step(command.round), out);
  require(command.verb == "site run", "no such verb of a party: this is a bug in muffle.");
  std::string said;
  for (;;) {
    carry(command, out);
    const Outcome outcome = Party(command).step(command.round);
    carry(command, out);
    if (!outcome.waits || outcome.error || outcome.lost) return tell(outcome, out);
    if (outcome.text != said) out << outcome.text << std::flush;
    said = outcome.text;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.every_s));
  }
}

}  // namespace muffle::app
