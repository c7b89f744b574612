#include "muffle/round/draft.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/embed/self_check.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {
namespace {

using release::Consortium;
using Member = Consortium::Member;

constexpr std::size_t kFewSites = 7;

/// The members who may take part in this role, in the charter's order.
class Invitations {
 public:
  Invitations(const Consortium& charter, const Membership& members) : charter_(charter) {
    for (const release::SignedHeader& header : members.countersignatures) {
      if (header.answers == charter.id) signed_.insert(header.sender);
    }
  }

  std::vector<const Member*> of(bool release::Card::*role, const char* role_name,
                                const std::vector<std::string>& wanted,
                                std::vector<std::string>& left_out) const {
    std::vector<const Member*> out;
    for (const std::string& name : wanted) {
      const Member* member = charter_.find(name);
      if (member == nullptr || !(member->card.*role))
        throw ConfigError(fmt::format("'{}' is no {} by charter {}.", printable(name), role_name,
                                      charter_.charter.version));
      if (std::ranges::count(out, member) > 0) throw ConfigError(fmt::format("'{}' is named twice.", name));
      if (!signed_.contains(member->key))
        throw ConfigError(fmt::format("'{}' has not countersigned charter {} yet (muffle site join).", name,
                                      charter_.charter.version));
      out.push_back(member);
    }
    if (!wanted.empty()) return out;
    for (const Member& member : charter_.members) {
      if (!(member.card.*role)) continue;
      if (signed_.contains(member.key)) {
        out.push_back(&member);
      } else {
        left_out.push_back(fmt::format("{}, a {}: has not countersigned charter {} (muffle site join)",
                                       member.card.name, role_name, charter_.charter.version));
      }
    }
    return out;
  }

 private:
  const Consortium& charter_;
  std::set<crypto::SitePublicKey> signed_;
};

/// The holder's published key with the least number that no proposal names.
std::optional<release::HolderKey> next_key(const Member& holder, const Membership& members,
                                           std::span<const release::Proposal> earlier) {
  std::set<std::uint64_t> used;
  for (const release::Proposal& proposal : earlier) {
    for (const release::HolderKey& h : proposal.holders) {
      if (h.holder.key == holder.key) used.insert(h.number);
    }
  }
  std::map<std::uint64_t, crypto::ExchangePoint> free;
  for (const release::SignedHeader& header : members.round_keys) {
    if (header.sender != holder.key) continue;
    const release::RoundKeys keys = release::read_round_keys(header, "round keys");
    for (std::size_t i = 0; i < keys.points.size(); ++i) {
      if (!used.contains(keys.first + i)) free.emplace(keys.first + i, keys.points[i]);
    }
  }
  if (free.empty()) return std::nullopt;
  return release::HolderKey{{holder.card.name, holder.key}, free.begin()->first, free.begin()->second};
}

/// Of what its own round sums.
Sha256Digest self_check_of(const release::Proposal& p) {
  return embed::self_check(embed::make_embedder(p.plan.rounds() > 1 ? p.plan.of_round(p.number()) : p.plan));
}

std::string epsilon_text(double mu, double delta) {
  const std::optional<double> epsilon = privacy::epsilon_to_tell(mu, delta);
  return epsilon ? rounded_up_text(*epsilon, 3) : "beyond 100";
}

std::string names_of(const std::vector<crypto::SignerKey>& list) {
  std::vector<std::string> names;
  for (const crypto::SignerKey& who : list) names.push_back(who.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Draft draft_proposal(release::ReleasePlan plan, const Membership& members,
                     const crypto::SitePublicKey& coordinator, std::span<const release::Proposal> earlier,
                     const Wishes& wishes) {
  if (plan.schema.on_error != schema::OnError::kClamp)
    throw ConfigError(
        "data.on_error = \"reject-file\" is not for rounds between institutions: who contributes is public, "
        "and would tell whether a site has a record that does not fit. Set data.on_error = \"clamp\".");
  const bool several = plan.rounds() > 1;
  if (several && wishes.missing_holders.value_or(0) > 0)
    throw ConfigError(
        "key holders may be missing only where a release has one round: leave --missing-holders out, or set "
        "privacy.rounds = 1 and write `bins` in the schema for every number, date and time.");
  const Consortium* charter = members.newest(coordinator);
  if (charter == nullptr)
    throw ConfigError(
        "there is no charter of this coordinator in the exchange: `muffle coordinator charter` first.");
  Draft draft;
  const Invitations invitations(*charter, members);
  const auto sites = invitations.of(&release::Card::site, "site", wishes.sites, draft.left_out);
  const bool few = sites.size() <= kFewSites;
  auto holders = invitations.of(&release::Card::key_holder, "key holder", wishes.holders, draft.left_out);
  release::Proposal& p = draft.proposal;
  const std::size_t most_holders = wishes.holders.empty() ? (few ? 3 : 5) : holders.size();
  for (const Member* holder : holders) {
    if (p.holders.size() == most_holders) break;
    const std::optional<release::HolderKey> key = next_key(*holder, members, earlier);
    if (key) {
      p.holders.push_back(*key);
      continue;
    }
    const std::string why = fmt::format(
        "{}, a key holder: has no unused round key in the exchange (muffle site join)", holder->card.name);
    if (!wishes.holders.empty()) throw ConfigError(why + ".");
    draft.left_out.push_back(why);
  }
  for (const Member* site : sites) p.sites.push_back({site->card.name, site->key});
  const auto n = static_cast<int>(sites.size());
  const int t = wishes.colluding.value_or(few ? 1 : 2);
  const auto m = static_cast<int>(p.holders.size());
  const int t_h = wishes.colluding_holders.value_or(1);
  p.title = wishes.title;
  p.charter = charter->id;
  p.plan = std::move(plan);
  p.self_check = self_check_of(p);
  p.parties = {.sites = n,
               .expected = wishes.expected.value_or(n),
               .least = wishes.least.value_or(std::max(few ? n - 1 : (6 * n + 9) / 10, t + 1)),
               .colluding = t,
               .holders = m,
               .colluding_holders = t_h,
               .missing_holders = wishes.missing_holders.value_or(!few && !several && m >= 3 + t_h ? 1 : 0)};
  p.contribute_until = wishes.contribute_until;
  p.open_until = wishes.open_until;
  if (p.parties.missing_holders > 0) p.stand_in_until = wishes.stand_in_until;
  const std::string left =
      draft.left_out.empty() ? "" : fmt::format(" Left out: {}.", fmt::join(draft.left_out, "; "));
  try {
    privacy::SiteNoisePlan(p.plan.noise, p.parties);
  } catch (const ConfigError& error) {
    throw ConfigError(error.what() + left);
  }
  return draft;
}

Draft draft_later(release::ReleasePlan plan, const Membership& members,
                  const std::vector<release::EndedRound>& before, std::span<const release::Proposal> earlier,
                  const Wishes& wishes) {
  const release::EndedRound& last = before.back();
  const Consortium* charter = members.newest(last.round.coordinator);
  if (charter == nullptr) throw ConfigError("there is no charter of this coordinator in the exchange.");
  Draft draft{last.round.proposal, {}};
  release::Proposal& p = draft.proposal;
  p.charter = charter->id;
  p.plan = std::move(plan);
  p.later = {last.round.proposal.number() + 1, last.round.first(), last.round.id, last.id};
  p.self_check = self_check_of(p);
  for (release::HolderKey& h : p.holders) {
    const Member* const member = charter->find(h.holder.key);
    if (member == nullptr || !member->card.key_holder)
      throw ConfigError(fmt::format("'{}' is no key holder by charter {} any more: the release cannot go on.",
                                    h.holder.name, charter->charter.version));
    const std::optional<release::HolderKey> key = next_key(*member, members, earlier);
    if (!key)
      throw ConfigError(fmt::format(
          "'{}', a key holder, has no unused round key in the exchange (muffle site join).", h.holder.name));
    h = *key;
  }
  for (const std::size_t site : before.front().seal.sites) {
    const Member* const member = charter->find(p.sites[site].key);
    if (member == nullptr || !member->card.site)
      throw ConfigError(
          fmt::format("'{}', which contributed to the first round, is no site by charter {} any more: "
                      "the release cannot go on.",
                      p.sites[site].name, charter->charter.version));
  }
  p.contribute_until = wishes.contribute_until;
  p.open_until = wishes.open_until;
  return draft;
}

std::string noise_in_words(const release::Proposal& p) {
  const privacy::SiteNoisePlan noise(p.plan.noise, p.parties);
  const double mu = privacy::mu_of(p.plan.noise), delta = p.plan.noise.delta;
  const auto planned = static_cast<double>(p.plan.noise.parts.at(0).runs.at(0).sigma_lattice);
  std::string out = fmt::format(
      "whoever pools what {} of the sealed sites and {} of the key holders know: epsilon {} at "
      "delta {}\n",
      p.parties.colluding, p.parties.colluding_holders, epsilon_text(mu, delta), delta);
  for (int u = p.parties.least; u <= p.parties.sites; ++u) {
    const double total = noise.total_sigma(u, p.parties.holders, 0, 0) / planned;
    const std::uint64_t top_up = noise.top_ups(u).at(0).runs.at(0).sigma_lattice;
    out += fmt::format("noise if {} contribute: {:.3f} sigma{}\n", u, total,
                       top_up > 0 ? " (key holders top it up)" : "");
  }
  out += fmt::format("a site that everybody else betrays, and the cryptography: epsilon {} at delta {}\n",
                     epsilon_text(std::nextafter(mu / noise.alone(), HUGE_VAL), delta), delta);
  return out;
}

std::string date_in_words(std::uint64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string proposal_in_words(const release::ProposedRound& round) {
  const release::Proposal& p = round.proposal;
  const release::ReleasePlan& plan = p.plan;
  std::string out = fmt::format("round {}\ntitle: {}\n", to_hex(round.id).substr(0, 16), printable(p.title));
  if (plan.rounds() > 1)
    out +=
        p.later
            ? fmt::format(
                  "round {} of {} of the release that round {} has begun: nothing more is charged for it\n",
                  p.number(), plan.rounds(), release::short_id(round.first()))
            : fmt::format(
                  "round 1 of {}: one charge pays for all, and what a later one counts follows from the "
                  "noisy sums before it. Whoever contributes is asked once more in each\n",
                  plan.rounds());
  std::vector<std::string> maps, holders;
  for (const features::NamedMap& map : round.summed.maps)
    maps.push_back(fmt::format("{} ({})", map.name, map.map->kind()));
  out += fmt::format("released: {} numbers, of the maps {}{}\n", round.length, fmt::join(maps, ", "),
                     round.summed.counts ? ", and class counts" : "");
  if (plan.schema.table) {
    std::vector<std::string> columns;
    for (const schema::Column& c : plan.schema.table->columns) {
      if (!c.is_unread() && c.role != schema::ColumnRole::kPerson) columns.push_back(printable(c.name));
    }
    out += fmt::format("columns: {}\nschema: {}\n", fmt::join(columns, ", "),
                       schema::table_hash(schema::with_target_as_label(*plan.schema.table)));
    if (const auto target = plan.schema.table->target())
      out += fmt::format("label: '{}', counted like any other column\n",
                         printable(plan.schema.table->columns[*target].name));
  } else {
    out += fmt::format("records: {} numbers each, {} classes\n", plan.schema.dims(), plan.schema.classes);
  }
  out += fmt::format("protected: {}\n", privacy::in_words(privacy::unit_of(plan.noise)));
  out +=
      "a record that does not fit the schema decides nothing: the nearest bound or the missing value takes "
      "the place of what does not fit, or the record counts as nothing\n";
  out += noise_in_words(p);
  for (const release::HolderKey& h : p.holders)
    holders.push_back(fmt::format("{} (key {})", h.holder.name, h.number));
  out += fmt::format("sites: {} are invited: {}; {} are expected; fewer than {} make no release\n",
                     p.sites.size(), names_of(p.sites), p.parties.expected, p.parties.least);
  const auto f = static_cast<std::size_t>(p.parties.missing_holders);
  out += f == 0
             ? fmt::format("key holders: all {} must open: {}\n", p.holders.size(), fmt::join(holders, ", "))
             : fmt::format("key holders: {} of {} must open, and stand in for the others: {}\n",
                           p.holders.size() - f, p.holders.size(), fmt::join(holders, ", "));
  out += fmt::format("contributions until {}; openings until {}", date_in_words(p.contribute_until),
                     date_in_words(p.open_until));
  out += f == 0 ? "\n" : fmt::format("; stand-ins until {}\n", date_in_words(p.stand_in_until));
  return out;
}

}  // namespace muffle::round
