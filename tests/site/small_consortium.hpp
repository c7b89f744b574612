#pragma once

#include <string>
#include <vector>

#include "muffle/release/membership.hpp"
#include "support/maps.hpp"

namespace muffle::test {

/// A coordinator TRIAL and the sites NORTH, SOUTH and WEST, each of which opens sums, too; all have
/// countersigned the one charter. What each has said lies here as signed headers.
struct SmallConsortium {
  explicit SmallConsortium(const std::vector<std::string>& names = {"NORTH", "SOUTH", "WEST"}) {
    using namespace release;
    cards.push_back(said(trial, MessageKind::kCard, body_of(Card{.name = "TRIAL", .coordinator = true})));
    for (const std::string& name : names) {
      sites.push_back(crypto::SiteKey::generate(name));
      cards.push_back(said(sites.back(), MessageKind::kCard,
                           body_of(Card{.name = name, .site = true, .key_holder = true})));
      RoundKeys keys;
      for (std::size_t i = 0; i < 4; ++i) keys.points.push_back(crypto::ExchangeKey::generate().point());
      points.push_back(keys.points);
      round_keys.push_back(said(sites.back(), MessageKind::kRoundKeys, body_of(keys)));
    }
    charter = said(trial, MessageKind::kCharter,
                   body_of(Charter{.title = "stays", .admission = "by telephone", .cards = cards}));
    const Consortium accepted(charter, "charter");
    for (const crypto::SiteKey& site : sites)
      countersignatures.push_back(sign(countersignature_of(accepted), site));
  }

  static release::SignedHeader said(const crypto::SiteKey& key, release::MessageKind kind,
                                    nlohmann::json body) {
    release::SignedHeader header{.kind = kind};
    header.body = std::move(body);
    return release::sign(std::move(header), key);
  }

  static release::ReleasePlan plan(double epsilon = 1.0, std::uint64_t records = 0,
                                   std::uint64_t per_person = 1) {
    const schema::Schema schema = table_schema({3, 4, 2}, 2);
    privacy::PrivacySpec spec;
    spec.epsilon = epsilon;
    spec.max_records_per_person = per_person;
    spec.adjacency = records > 0 ? privacy::Adjacency::kReplaceOne : privacy::Adjacency::kAddRemoveOne;
    return release::make_plan(
        {schema, {}, {named("all", make_map("pairs", {}, schema))}, spec, false, records});
  }

  /// All sites and key holders, by the charter.
  release::Proposal proposal() const {
    release::Proposal p{
        .title = "stays of 2026",
        .charter = charter.id(),
        .plan = plan(),
        .parties = {static_cast<int>(sites.size()), static_cast<int>(sites.size()),
                    static_cast<int>(sites.size()) - 1, 1, static_cast<int>(sites.size()), 1, 0},
        .sites = {},
        .holders = {},
        .contribute_until = 1'800'000'000,
        .open_until = 1'800'600'000};
    for (std::size_t i = 0; i < sites.size(); ++i) {
      p.sites.push_back({sites[i].name(), sites[i].public_key()});
      p.holders.push_back({p.sites.back(), 0, points[i][0]});
    }
    return p;
  }
  std::string proposed(const release::Proposal& p) const {
    return release::message_bytes(said(trial, release::MessageKind::kProposal, body_of(p)));
  }
  release::ProposedRound round(const release::Proposal& p) const {
    return {release::parse_message(proposed(p), "proposal"), "proposal"};
  }

  crypto::SiteKey trial = crypto::SiteKey::generate("TRIAL");
  std::vector<crypto::SiteKey> sites;
  std::vector<std::vector<crypto::ExchangePoint>> points;  ///< by site: of its round keys 0, 1, ...
  std::vector<release::SignedHeader> cards, round_keys, countersignatures;
  release::SignedHeader charter;
};

}  // namespace muffle::test
