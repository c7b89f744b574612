// muffle site step and run, muffle coordinator step: what a party does next in its rounds, by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <thread>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/text.hpp"
#include "muffle/embed/self_check.hpp"
#include "muffle/http/settings.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/consortium_folder.hpp"
#include "muffle/round/site_ranks.hpp"
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
  /// Rounds in which it still waits, and the next of their deadlines; rounds without a release, or without
  /// this party.
  std::set<crypto::RoundId> waiting, gone;
  std::uint64_t next_deadline = std::numeric_limits<std::uint64_t>::max();
  bool lost = false;           ///< one of those was lost before its time was over
  std::optional<Error> error;  ///< the first

  void add(const ProposedRound& round, std::string_view role, const round::StepReport& report) {
    text += fmt::format("round {} ({}), {}\n", release::short_id(round.id), printable(round.proposal.title),
                        role);
    for (const std::string& line : report.done) text += fmt::format("  {}\n", printable(line));
    for (const std::string& line : report.waits) text += fmt::format("  waits for {}\n", printable(line));
    for (const std::string& line : report.aside) text += fmt::format("  kept aside {}\n", printable(line));
    if (report.done.empty() && report.waits.empty()) text += "  nothing more to do\n";
    const release::Proposal& p = round.proposal;
    const std::uint64_t now = clock_time();
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
  if (spec.schema.table &&
      (!plan.schema.table || schema::table_hash(*spec.schema.table) !=
                                 schema::table_hash(schema::with_target_as_label(*plan.schema.table))))
    throw ConfigError(
        fmt::format("data.schema in {} is not the schema of the round's plan: compare them (`muffle schema "
                    "hash`, `muffle site "
                    "show`), and settle with the coordinator which is right. No record was read.",
                    party_file(config.folder, true).string()));
  spec.schema = plan.schema;
  spec.schema.on_error = schema::OnError::kClamp;  // no proposal says otherwise (release::read_proposal)
  spec.records = 0;
  if (plan.schema.table && plan.schema.table->person()) spec.records_per_person = plan.max_records_per_person;
  // A person's records are bounded over all that the site has, and a rank sees its own files alone.
  if (spec.records_per_person > 0 && spec.shards == data::ShardRule::kPerRank)
    throw ConfigError(
        "the round bounds the records of a person, and each rank of this site has files of its own "
        "(data.shards = \"per-rank\"), which one person may be in several of: give all ranks the same files. "
        "No record was read.");
  if (config.config.party->parts > 1) spec.shards = data::ShardRule::kContiguous;
  return spec;
}

/// What all ranks of the site's job go by; the rest of its settings is root's alone.
std::map<std::string, std::string> settings_of_ranks(const PartyConfig& config) {
  std::map<std::string, std::string> out = flatten(config.config);
  std::erase_if(out, [](const auto& setting) {
    const std::string section = setting.first.substr(0, setting.first.find('.'));
    return section != "data" && section != "features" && section != "runtime" && section != "site";
  });
  return out;
}

/// The site's settings as they are now, the same on all ranks of its job. Collective.
PartyConfig settings_of_job(comm::HostComm& comm, const std::filesystem::path& folder) {
  PartyConfig config;
  comm::agree(comm, "reading the site's settings", true, [&] { config = load_party(folder, true); });
  comm::require_same_settings(comm, settings_of_ranks(config), names_own_files);
  return config;
}

/// What a rank of the site's job finds in its part of the records. Collective.
round::OwnSums sum_part(const SiteMachine& machine, const std::filesystem::path& folder,
                        const release::ReleasePlan& plan) {
  comm::HostComm& comm = machine.comm;
  const PartyConfig config = settings_of_job(comm, folder);
  const Config::Party& party = *config.config.party;
  data::DataSpec spec;
  comm::agree(comm, "opening the logs", true, [&] {
    set_up_logging({comm.rank(), comm.host(), config.folder / "logs", 0});
  });
  comm::agree(comm, "reading the round's plan", true, [&] { spec = records_for(config, plan); });
  // Ranks that read the same files must count the same records of a person.
  if (spec.records_per_person > 0 && spec.shards != data::ShardRule::kPerRank)
    spec.person_key = comm::broadcast_text(comm, comm.is_root() ? data::new_person_key() : "");
  spec.heartbeat = [&] { comm.check_peers("opening the records"); };
  const std::int64_t asked = config.config.runtime.threads;
  const int threads = asked > 0 ? static_cast<int>(asked) : machine.cores;
  set_compute_threads(threads);
  const embed::Embedder embedder = machine.make_embedder(config.config, plan);
  std::optional<round::OwnSums> own;
  comm::agree(comm, "embedding the records", false, [&] {
    const auto source =
        data::open_shard(spec, party.part * comm.size() + comm.rank(), party.parts * comm.size());
    const std::uint64_t records =
        plan.adjacency == privacy::Adjacency::kReplaceOne ? source->shard_size() : 0;
    own.emplace(
        round::OwnSums{embed::embed_shard(embedder, *source, threads,
                                          [&](std::uint64_t) { comm.check_peers("embedding the records"); }),
                       records});
  });
  return std::move(*own);
}

/// A site, or a key holder, with its folder open.
class Party {
 public:
  /// @param ranks  of its job, of which this one is root
  Party(const PartyCommand& command, PartyConfig config, comm::HostComm& comm, round::SiteRanks& ranks)
      : store_(site::KeyStore::open(command.folder)),
        config_(std::move(config)),
        comm_(comm),
        ranks_(ranks),
        with_torch_(command.with_torch),
        exchange_(exchange_of(command, config_)) {}

  Outcome step(const std::string& digits) {
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

 private:
  round::StepClock clock() const {
    return {clock_time, kLockDeadline, [this] { comm_.check_peers("a site's step"); }};
  }

  round::ContributorJob contributor_job(const ProposedRound& round) {
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

  round::StepReport contribute(const ProposedRound& round) {
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
  round::StepReport open(const ProposedRound& round) {
    const auto pinned = site::Pins::load(store_.folder()).coordinator;
    if (!pinned || pinned->key != round.coordinator) {
      round::StepReport report;
      if (clock_time() > round.proposal.open_until) return report;
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
                                                  clock_time()});
    if (verdict.answer == site::Verdict::Answer::kYes) return same_sums(round);
    if (verdict.answer == site::Verdict::Answer::kWait) return {Answer::kWait, verdict.why()};
    decline(round, verdict.code);
    return {Answer::kNo,
            fmt::format("declined with the code '{}': {}", name_of(verdict.code), verdict.why())};
  }

  /// Whether this muffle, on this processor, makes the sums that the proposal's muffle makes.
  round::SiteVerdict same_sums(const ProposedRound& round) {
    using Answer = round::SiteVerdict::Answer;
    if (embed::self_check(embed::make_embedder(round.summed)) == round.proposal.self_check)
      return {Answer::kYes, ""};
    decline(round, release::DeclineCode::kVersion);
    return {
        Answer::kNo,
        "declined with the code 'version': of the proposal's 64 made-up records this muffle, on this "
        "machine, makes other sums than the coordinator's, and would spoil the total. Compare versions and "
        "processors"};
  }

  void decline(const ProposedRound& round, release::DeclineCode code) {
    decline_round(store_, *exchange_, round, code);
  }

  site::KeyStore store_;
  const PartyConfig config_;
  comm::HostComm& comm_;
  round::SiteRanks& ranks_;
  bool with_torch_;
  std::unique_ptr<round::Exchange> exchange_;
  round::Membership members_;
};

release::AbandonCode code_of(const PartyCommand& command) {
  const auto codes = release::abandon_codes();
  return static_cast<release::AbandonCode>(std::ranges::find(codes, command.code) - codes.begin());
}

Outcome coordinator_step(const PartyCommand& command) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const auto exchange = exchange_of(command, load_party(command.folder, false));
  Outcome out;
  const auto each = [&](const ProposedRound& round) {
    if (round.coordinator != store.key().public_key()) return;
    const round::CoordinatorJob job{
        store.key(), store.folder(), {clock_time, kLockDeadline, {}}, MUFFLE_VERSION};
    out.attempt(round, "as the coordinator", [&] {
      return command.verb == "coordinator abandon"
                 ? round::abandon_round(round, *exchange, job, code_of(command))
                 : round::coordinator_step(round, *exchange, job);
    });
  };
  if (!command.round.empty() || command.verb == "coordinator abandon") {
    each(round::find_round(*exchange, command.round));
  } else {
    for (const round::Proposals::Entry& entry : round::read_proposals(*exchange).rounds) each(entry.round);
  }
  return out;
}

/// Of a party whose exchange is a server: carries messages there and back. A network that is down for a while
/// ends nothing, nor does a message that one side does not take. @returns what is to be said of it
std::string carry(const PartyCommand& command, comm::HostComm& comm) {
  if (!command.exchange.empty() || !round::is_far(load_party(command.folder, true).exchange())) return {};
  bool network = true;  // or the job itself ends
  try {
    round::Synced synced = carry_messages(command, true, [&] {
      network = false;
      comm.check_peers("carrying messages");
      network = true;
    });
    require_own_words(synced);
    synced.fetched.clear();
    synced.sent.clear();
    return in_words(synced);
  } catch (const CommError& e) {
    if (!network) throw;
    return fmt::format("the exchange was not reached: {}\n", e.what());
  }
}

/// Between two steps. @throws StoppedError  the site was told to stop.
void sleep_for(double seconds, comm::HostComm& comm) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    comm.check_peers("waiting for the others of a round");
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(
        std::min<std::chrono::duration<double>>(left, std::chrono::milliseconds(200)));
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

/// Until no round is waited for any more: each ends by itself, and by its own deadlines.
void run(const PartyCommand& command, const std::function<Outcome()>& step, comm::HostComm& comm,
         std::ostream& out) {
  std::set<crypto::RoundId> waited;
  std::string said;
  for (;;) {
    std::string carried = carry(command, comm);
    Outcome outcome = step();
    if (const std::string after = carry(command, comm); after != carried) carried += after;
    waited.insert(outcome.waiting.begin(), outcome.waiting.end());
    if (outcome.waiting.empty()) {
      out << carried;
      outcome.lost = outcome.lost || std::ranges::any_of(outcome.gone, [&](const crypto::RoundId& id) {
                       return waited.contains(id);
                     });
      return tell(outcome, out);
    }
    if (carried + outcome.text != said) out << carried << outcome.text << std::flush;
    said = carried + outcome.text;
    const std::uint64_t now = clock_time();
    const auto left = static_cast<double>(outcome.next_deadline >= now ? outcome.next_deadline - now + 1 : 1);
    sleep_for(std::min(command.every_s, left), comm);
  }
}

}  // namespace

void coordinator_step_command(const PartyCommand& command, std::ostream& out) {
  Outcome outcome = coordinator_step(command);
  if (command.verb == "coordinator abandon") outcome.lost = false;  // it is what was asked for
  tell(outcome, out);
}

void site_step(const PartyCommand& command, const SiteMachine& machine, std::ostream& out) {
  comm::HostComm& comm = machine.comm;
  (void)settings_of_job(comm, command.folder);  // what is wrong with them is said at once
  round::SiteRanks ranks(
      comm, [&](const release::ReleasePlan& plan) { return sum_part(machine, command.folder, plan); });
  ranks.run("muffle " + command.verb, [&] {
    // With the settings of now: who lowers a limit while `run` waits has lowered it.
    const auto step = [&] {
      return Party(command, load_party(command.folder, true), comm, ranks).step(command.round);
    };
    if (command.verb == "site step") return tell(step(), out);
    require(command.verb == "site run", "no such verb of a site: this is a bug in muffle.");
    run(command, step, comm, out);
  });
}

}  // namespace muffle::app
