#include "muffle/round/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/embed/self_check.hpp"
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
  return embed::self_check(p.plan.rounds() > 1 ? p.plan.of_round(p.number()) : p.plan);
}

/// A seal holds the signed header of each contribution, and no message of lists may be larger than others
/// read.
void require_sealable(const release::Proposal& p) {
  constexpr std::uint64_t kBesideHeaders = 4096;
  const std::uint64_t each = release::most_bytes_sealed(p);
  const std::uint64_t most = (release::kMostBytesOfLists - kBesideHeaders) / each;
  if (p.sites.size() <= most) return;
  throw ConfigError(fmt::format(
      "the round could not be sealed: a seal has {} bytes for each of {} contributions, {} in all, and no "
      "more than {} are read. With {} key holders{} {} sites can be invited at most: invite fewer "
      "(--invite), have fewer key holders (--holder){}, or make two releases by one plan and combine them.",
      each, p.sites.size(), each * p.sites.size(), release::kMostBytesOfLists, p.holders.size(),
      p.parties.missing_holders > 0 ? fmt::format(", of whom {} may be missing,", p.parties.missing_holders)
                                    : "",
      most, p.parties.missing_holders > 0 ? " or let none be missing (--missing-holders 0)" : ""));
}

}  // namespace

const Consortium& charter_of_all(const release::Proposal& p, const std::vector<std::size_t>& sites,
                                 const Membership& members, const crypto::SitePublicKey& coordinator) {
  const Consortium* found = nullptr;
  std::string lacks;
  for (const Consortium& charter : members.charters) {  // by version
    if (charter.coordinator != coordinator) continue;
    std::string missing;
    const auto need = [&](const crypto::SignerKey& who, bool release::Card::*role, const char* role_name) {
      const Member* const member = charter.find(who.key);
      if (member == nullptr || !(member->card.*role))
        missing = fmt::format("'{}' is no {} by charter {}", who.name, role_name, charter.charter.version);
      if (std::ranges::count(charter.charter.revoked, who.key) > 0)
        throw ConfigError(fmt::format("charter {} has revoked the key of '{}': the release cannot go on.",
                                      charter.charter.version, who.name));
    };
    for (const release::HolderKey& h : p.holders) need(h.holder, &release::Card::key_holder, "key holder");
    for (const std::size_t site : sites) need(p.sites[site], &release::Card::site, "site");
    if (missing.empty()) found = &charter;
    lacks = missing;
  }
  if (found != nullptr) return *found;
  throw ConfigError(lacks.empty() ? "there is no charter of this coordinator in the exchange."
                                  : lacks + ": the release cannot go on.");
}

Draft draft_proposal(release::ReleasePlan plan, const Membership& members,
                     const crypto::SitePublicKey& coordinator, std::span<const release::Proposal> earlier,
                     const Wishes& wishes) {
  if (features::minibatches_in(plan.maps))
    throw ConfigError(
        "minibatches go by records' places in one data set, and each institution has its own: set "
        "minibatches = 0 in every [map.NAME].");
  if (plan.schema.on_error != schema::OnError::kClamp)
    throw ConfigError(
        "data.on_error = \"reject-file\" is not for rounds between institutions: who contributes is public, "
        "and would tell whether a site has a record that does not fit. Set data.on_error = \"clamp\".");
  for (const features::NamedMap& map : plan.maps) {
    if (map.map->steps() != nullptr)
      throw ConfigError(fmt::format(
          "map.{}: maps of kind \"{}\" are released in rounds of one job, not between institutions: leave it "
          "out, or make the release by `muffle release`. Nothing was proposed.",
          map.name, map.map->kind()));
  }
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
               .missing_holders = wishes.missing_holders.value_or(!few && m >= 3 + t_h ? 1 : 0)};
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
  require_sealable(p);
  return draft;
}

Draft draft_later(release::ReleasePlan plan, const Membership& members,
                  const std::vector<release::EndedRound>& before, std::span<const release::Proposal> earlier,
                  const Wishes& wishes) {
  const release::EndedRound& last = before.back();
  Draft draft{last.round.proposal, {}};
  release::Proposal& p = draft.proposal;
  const Consortium& charter = charter_of_all(p, before.front().seal.sites, members, last.round.coordinator);
  p.charter = charter.id;
  p.plan = std::move(plan);
  p.later = {last.round.proposal.number() + 1, last.round.first(), last.round.id, last.id};
  p.self_check = self_check_of(p);
  for (release::HolderKey& h : p.holders) {
    const std::optional<release::HolderKey> key = next_key(*charter.find(h.holder.key), members, earlier);
    if (!key)
      throw ConfigError(fmt::format(
          "'{}', a key holder, has no unused round key in the exchange (muffle site join).", h.holder.name));
    h = *key;
  }
  p.contribute_until = wishes.contribute_until;
  p.open_until = wishes.open_until;
  if (p.parties.missing_holders > 0) p.stand_in_until = wishes.stand_in_until;
  return draft;
}

}  // namespace muffle::round
