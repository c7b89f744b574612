#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/site/policy.hpp"

namespace muffle::site {
namespace {

using release::Consortium;
using Outcome = Ruling::Outcome;

constexpr std::time_t kSecondsOfADay = 86400;
constexpr const char *kProgram = "program", *kBudget = "budget";

/// One question, rule by rule.
class Judge {
 public:
  Judge(const Policy& policy, const Pins& pins, const Question& q)
      : policy_(policy), pins_(pins), q_(q), proposal_(q.round.proposal) {}

  std::vector<Ruling> rulings() const {
    return {coordinator(),      charter(),       round_keys(), colluding_sites(), colluding_holders(),
            missing_holders(),  contributions(), epsilon(),    alone(),           budget(),
            required_holders(), columns(),       records(),    person(),          program(),
            networks(),         steps(),         deadlines(),  approvals()};
  }

 private:
  static Ruling kept(const char* rule, std::string text) { return {rule, Outcome::kKept, std::move(text)}; }
  static Ruling waits(const char* rule, std::string text) { return {rule, Outcome::kWaits, std::move(text)}; }
  static Ruling broken(const char* rule, std::string text) {
    return {rule, Outcome::kBroken, std::move(text)};
  }
  static Ruling at_most(const char* rule, bool good, std::string text) {
    return {rule, good ? Outcome::kKept : Outcome::kBroken, std::move(text)};
  }
  bool knows(const crypto::SitePublicKey& key) const { return key == q_.self.key || pins_.knows(key); }

  Ruling program() const {
    for (const features::NamedMap& map : proposal_.plan.maps) {
      if (map.map->needs_torch() && !q_.with_torch)
        return broken(
            kProgram,
            fmt::format(
                "the map \"{}\" needs LibTorch, which muffle-site has not: take this round's steps with "
                "`muffle site step`",
                map.name));
    }
    return kept(kProgram, "this program can sum the records by the round's maps");
  }

  /// Nobody hands a round's state from institution to institution yet.
  Ruling steps() const {
    for (const features::NamedMap& map : proposal_.plan.maps) {
      if (map.map->steps() != nullptr)
        return broken("steps",
                      fmt::format("the map \"{}\" (kind \"{}\") is released in rounds of one job, not "
                                  "between institutions",
                                  map.name, map.map->kind()));
    }
    return kept("steps", "no map goes on step by step");
  }

  /// A person can still put the file there.
  Ruling networks() const {
    const std::string lacking = lacking_networks(proposal_.plan.maps, q_.networks);
    if (!lacking.empty()) return waits("networks", lacking);
    return kept("networks", q_.networks.files.empty() ? "no map is made by one"
                                                      : "this site has the file of each, by its SHA-256");
  }

  Ruling coordinator() const {
    if (!pins_.coordinator)
      return waits("coordinator",
                   "no coordinator is pinned: compare its fingerprint by telephone, then `muffle site pin`");
    if (pins_.coordinator->key != q_.round.coordinator)
      return broken("coordinator", fmt::format("the proposal is not signed by '{}', who is pinned",
                                               pins_.coordinator->name));
    return kept("coordinator", fmt::format("'{}' is pinned", pins_.coordinator->name));
  }

  std::vector<crypto::SignerKey> sites() const {
    if (q_.taking_part.empty()) return proposal_.sites;
    std::vector<crypto::SignerKey> out;
    for (const std::size_t site : q_.taking_part) out.push_back(proposal_.sites.at(site));
    return out;
  }

  /// Everybody who takes part is in the charter that it names, under the same name, in that role; no charter
  /// that was seen of this coordinator has revoked a key of theirs. A newer one alone ends no round that is
  /// under way: members come, go and change their keys.
  Ruling charter() const {
    const auto named = std::ranges::find(q_.charters, proposal_.charter, &Consortium::id);
    if (named == q_.charters.end()) {
      if (proposal_.charter == Sha256Digest{}) return broken("charter", "the proposal names no charter");
      return waits("charter", "the charter that the proposal names has not been seen");
    }
    if (named->coordinator != q_.round.coordinator) return broken("charter", "another coordinator signed it");
    std::string wrong, newer;
    const std::vector<crypto::SignerKey> taking = sites();
    for (const crypto::SignerKey& site : taking) {
      const Consortium::Member* member = named->find(site.key);
      if (member == nullptr || member->card.name != site.name || !member->card.site)
        wrong = fmt::format("'{}' is no site by the charter", site.name);
    }
    for (const release::HolderKey& h : proposal_.holders) {
      const Consortium::Member* member = named->find(h.holder.key);
      if (member == nullptr || member->card.name != h.holder.name || !member->card.key_holder)
        wrong = fmt::format("'{}' is no key holder by the charter", h.holder.name);
    }
    for (const Consortium& charter : q_.charters) {
      if (charter.coordinator != q_.round.coordinator) continue;
      if (charter.charter.version > named->charter.version)
        newer = fmt::format("; version {} was seen since, and revokes nobody of the round",
                            charter.charter.version);
      for (const crypto::SitePublicKey& key : charter.charter.revoked) {
        if (std::ranges::count(taking, key, &crypto::SignerKey::key) > 0 || q_.round.holder(key))
          wrong = fmt::format("charter {} has revoked a key of the proposal", charter.charter.version);
      }
    }
    if (!wrong.empty()) return broken("charter", wrong);
    return kept("charter",
                fmt::format("version {}; all {} sites and {} key holders are members{}",
                            named->charter.version, proposal_.sites.size(), proposal_.holders.size(), newer));
  }

  /// An invented round key would let its inventor take the masks off.
  Ruling round_keys() const {
    for (const release::HolderKey& h : proposal_.holders) {
      bool published = false;
      for (const release::SignedHeader& header : q_.round_keys) {
        if (header.sender != h.holder.key) continue;
        const release::RoundKeys keys = release::read_round_keys(header, "round keys");
        published = published || (h.number >= keys.first && h.number - keys.first < keys.points.size() &&
                                  keys.points[h.number - keys.first] == h.point);
      }
      if (!published)
        return waits("round keys",
                     fmt::format("no message of '{}' publishes the round key {} that the proposal names",
                                 h.holder.name, h.number));
    }
    return kept("round keys", "each is published by its holder");
  }

  Ruling colluding_sites() const {
    std::vector<std::string> unknown;
    for (const crypto::SignerKey& site : proposal_.sites) {
      if (!knows(site.key)) unknown.push_back(site.name);
    }
    return covers("colluding sites", unknown, policy_.colluding_sites, proposal_.parties.colluding, "t",
                  "sites");
  }

  Ruling colluding_holders() const {
    std::vector<std::string> unknown;
    for (const release::HolderKey& h : proposal_.holders) {
      if (!knows(h.holder.key)) unknown.push_back(h.holder.name);
    }
    return covers("colluding key holders", unknown, policy_.colluding_holders,
                  proposal_.parties.colluding_holders, "t_h", "key holders");
  }

  /// Who stands in for a missing key holder opens without it: a site that is one itself may not want that.
  Ruling missing_holders() const {
    return at_most("missing key holders", proposal_.parties.missing_holders <= policy_.missing_holders,
                   fmt::format("f = {} may be missing; policy.missing_holders = {}",
                               proposal_.parties.missing_holders, policy_.missing_holders));
  }

  /// Until a round's last day key holders keep its round keys, and sites wait for it.
  Ruling deadlines() const {
    const std::uint64_t last = proposal_.last_day();
    const std::uint64_t ahead = last > q_.now ? last - q_.now : 0;
    const auto most = static_cast<std::uint64_t>(policy_.longest_days) * kSecondsOfADay;
    return at_most("deadlines", ahead <= most,
                   fmt::format("its last day is {} days ahead; policy.longest_days = {}",
                               (ahead + kSecondsOfADay - 1) / kSecondsOfADay, policy_.longest_days));
  }

  /// Whoever is not pinned may be the coordinator's invention, so it counts as curious.
  static Ruling covers(const char* rule, const std::vector<std::string>& unknown, std::int64_t own,
                       int proposed, const char* symbol, const char* whom) {
    const auto needed = static_cast<std::int64_t>(unknown.size()) + own;
    const std::string text =
        fmt::format("{} = {}; policy.{} = {} of those you know, and {} {} you have not pinned{}{}", symbol,
                    proposed, symbol == std::string_view("t") ? "colluding_sites" : "colluding_holders", own,
                    unknown.size(), whom, unknown.empty() ? "" : ": ", fmt::join(unknown, ", "));
    if (proposed >= needed) return kept(rule, text);
    // Pinning mends what lacks only by people whom nobody pinned.
    return {rule, proposed >= own ? Outcome::kWaits : Outcome::kBroken, text};
  }

  /// Sites that the coordinator may have invented make no crowd.
  Ruling contributions() const {
    const auto unknown = std::ranges::count_if(
        proposal_.sites, [&](const crypto::SignerKey& site) { return !knows(site.key); });
    const std::int64_t known = proposal_.parties.least - unknown;
    const std::string text = fmt::format(
        "k = {} make a release, {} at least of sites that you know; policy.least_contributions = {}",
        proposal_.parties.least, std::max<std::int64_t>(known, 0), policy_.least_contributions);
    if (known >= policy_.least_contributions) return kept("contributions", text);
    // Pinning mends what lacks only by sites that nobody pinned.
    return {"contributions",
            proposal_.parties.least >= policy_.least_contributions ? Outcome::kWaits : Outcome::kBroken,
            text};
  }

  double mu() const { return privacy::mu_of(proposal_.plan.noise); }
  Ruling below(const char* rule, const char* key, double mu_value, std::optional<double> largest) const {
    const std::optional<double> found = privacy::epsilon_to_tell(mu_value, policy_.delta);
    const std::string told = found ? rounded_up_text(*found, 3) : "beyond 100";
    if (!largest)
      return kept(rule,
                  fmt::format("epsilon {} at delta {}; policy.{} = \"none\"", told, policy_.delta, key));
    return at_most(rule, found && *found <= *largest,
                   fmt::format("epsilon {} at delta {}; policy.{} = {}", told, policy_.delta, key,
                               exact_text(*largest)));
  }
  Ruling epsilon() const { return below("epsilon", "largest_epsilon", mu(), policy_.largest_epsilon); }
  /// Of all rounds of the release.
  Ruling alone() const {
    // Up: this is what remains if everything else fails.
    const double left = privacy::SiteNoisePlan(proposal_.plan.noise, proposal_.parties).alone();
    const double mu_alone = std::nextafter(mu() / left, HUGE_VAL);
    return below("epsilon if all betray", "largest_epsilon_alone", mu_alone, policy_.largest_epsilon_alone);
  }

  Ruling budget() const {
    const privacy::PrivacyUnit unit = privacy::unit_of(proposal_.plan.noise);
    if (q_.ledger.unit && *q_.ledger.unit != unit)
      return broken(kBudget, fmt::format("the ledger counts {}, and the proposal {}",
                                         privacy::in_words(*q_.ledger.unit), privacy::in_words(unit)));
    if (proposal_.later) {
      // Which charge goes on, and whether it can, the site's book tells (release/contribution_book.hpp).
      if (q_.ledger.charges_for(release::charged_as(q_.round.first())).empty())
        return broken(kBudget, "nothing was charged for the first round of this release");
      return kept(kBudget, "charged with the first round of this release");
    }
    const privacy::Quote quote = privacy::quote(q_.ledger, mu(), true, policy_.delta);
    return at_most(kBudget, quote.allowed, quote.text);
  }

  Ruling required_holders() const {
    for (const std::string& name : policy_.required_holders) {
      const crypto::SignerKey* pinned = name == q_.self.name ? &q_.self : pins_.peer(name);
      if (pinned == nullptr)
        return waits("required key holders", fmt::format("'{}' is not pinned, so nobody can tell", name));
      if (!q_.round.holder(pinned->key))
        return broken("required key holders", fmt::format("'{}' is no key holder of this round", name));
    }
    return kept("required key holders",
                policy_.required_holders.empty()
                    ? "none are asked for"
                    : fmt::format("{} take part", fmt::join(policy_.required_holders, ", ")));
  }

  Ruling columns() const {
    if (policy_.columns.empty()) return kept("columns", "all may be used");
    if (!proposal_.plan.schema.table)
      return broken("columns", "the round is not of a table, and policy.columns names some");
    for (const schema::Column& column : proposal_.plan.schema.table->columns) {
      if (!column.is_unread() && column.role != schema::ColumnRole::kPerson && !column.time_of &&
          std::ranges::count(policy_.columns, column.name) == 0)
        return broken("columns", fmt::format("'{}' is none of policy.columns", column.name));
    }
    return kept("columns", "all that are used are in policy.columns");
  }

  Ruling records() const {
    const bool replace = proposal_.plan.adjacency == privacy::Adjacency::kReplaceOne;
    return at_most(
        "number of records", !replace || policy_.tell_records,
        replace
            ? fmt::format(
                  "replace-one: the contribution says how many records there are; policy.tell_records = {}",
                  policy_.tell_records)
            : "add/remove-one: it stays at the site");
  }

  Ruling person() const {
    const auto promised = proposal_.plan.max_records_per_person;
    return at_most("records of a person", promised >= static_cast<std::uint64_t>(policy_.records_per_person),
                   fmt::format("protected are {}; policy.records_per_person = {}", promised,
                               policy_.records_per_person));
  }

  Ruling approvals() const {
    const std::vector<std::string> people = who_approved(policy_, q_);
    const std::string text = fmt::format("{} of {}{}{}", people.size(), policy_.approvals,
                                         people.empty() ? "" : ": ", fmt::join(people, ", "));
    if (static_cast<std::int64_t>(people.size()) >= policy_.approvals) return kept("approvals", text);
    return waits("approvals", text + "; `muffle site approve`");
  }

  const Policy& policy_;
  const Pins& pins_;
  const Question& q_;
  const release::Proposal& proposal_;
};

}  // namespace

std::string Verdict::why() const {
  std::string out;
  for (const Ruling& r : rulings) {
    if (r.outcome != Outcome::kKept) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", r.rule, r.text);
  }
  return out;
}

Verdict policy_verdict(const Policy& policy, const Pins& pins, const Question& question) {
  Verdict verdict;
  verdict.rulings = Judge(policy, pins, question).rulings();
  const auto any = [&](Outcome outcome) {
    return std::ranges::any_of(verdict.rulings, [&](const Ruling& r) { return r.outcome == outcome; });
  };
  if (any(Outcome::kBroken)) {
    verdict.answer = Verdict::Answer::kDecline;
    const auto alone = [&](const char* rule) {
      return std::ranges::all_of(
          verdict.rulings, [&](const Ruling& r) { return r.outcome != Outcome::kBroken || r.rule == rule; });
    };
    using release::DeclineCode;
    verdict.code = alone(kProgram)  ? DeclineCode::kNeedsTorch
                   : alone(kBudget) ? DeclineCode::kBudget
                                    : DeclineCode::kPolicy;
  } else {
    verdict.answer = any(Outcome::kWaits) ? Verdict::Answer::kWait : Verdict::Answer::kYes;
  }
  return verdict;
}

}  // namespace muffle::site
