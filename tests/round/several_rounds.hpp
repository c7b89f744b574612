#pragma once

#include "muffle/release/later_rounds.hpp"
#include "round/consortium.hpp"

namespace muffle::round {

/// Pairs of three columns in three rounds; what the later ones count is open.
inline release::ReleasePlan plan_of_rounds(std::uint64_t records = 0) {
  const schema::Schema schema = test::table_schema({3, 4, 2}, 2);
  const std::shared_ptr<const features::FeatureMap> map = test::make_map("pairs", {}, schema);
  std::vector<features::NamedMap> maps;
  for (std::size_t r = 0; r < 3; ++r)
    maps.push_back({"p-" + std::to_string(r + 1), features::MapRole::kMatch,
                    std::sqrt(std::vector{0.25, 0.25, 0.5}[r]), map, r + 1});
  maps[0].map = map->tables()->counting({{{0}}, {{1}}, {{2}}});
  privacy::PrivacySpec spec;
  spec.epsilon = 1.0;
  spec.max_records_per_person = 1;
  spec.adjacency = records > 0 ? privacy::Adjacency::kReplaceOne : privacy::Adjacency::kAddRemoveOne;
  return release::make_plan({schema, {}, std::move(maps), spec, true, records});
}

/// What a later round counts, as if somebody had chosen it.
inline release::ReleasePlan chosen(release::ReleasePlan plan, std::size_t number) {
  if (number == 2) {
    plan.count_in(1, {{{0, 1}}, {{1, 2}}});
  } else {
    plan.count_in(2, {{{0, 2}}});
  }
  return plan;
}

/// A key holder's round key; the h-th key holder's of the r-th round has the number 10 r + h.
inline crypto::ExchangeKey round_key_of(std::uint64_t number) {
  crypto::SecretBytes secret(32);
  // The first round's are the world's, of numbers below 10.
  for (int b = 0; b < 32; ++b)
    secret.get()[b] = static_cast<unsigned char>(31 * number + 7 * static_cast<std::uint64_t>(b) + 1);
  return crypto::ExchangeKey(std::move(secret));
}

/// This round and those before it, all of which have their sums.
inline std::vector<release::EndedRound> ended_rounds(const ProposedRound& last,
                                                     const release::EvidenceReader& read) {
  std::vector<release::EndedRound> out = release::earlier_rounds(last, read);
  const auto message = [&](const std::string& name) {
    return release::parse_message(read(name, release::most_bytes(name, last.length)).value(), name);
  };
  out.emplace_back(last, message(release::seal_name(last.id)).header, message(release::sum_name(last.id)));
  return out;
}

/// What the coordinator would propose after the last of these.
inline release::Proposal proposal_after(const std::vector<release::EndedRound>& ended) {
  const release::EndedRound& last = ended.back();
  release::Proposal p = last.round.proposal;
  p.later = {p.number() + 1, last.round.first(), last.round.id, last.id};
  p.plan = chosen(p.plan, p.number());
  for (std::size_t h = 0; h < p.holders.size(); ++h) {
    p.holders[h].number = 10 * p.number() + h;
    p.holders[h].point = round_key_of(p.holders[h].number).point();
  }
  return p;
}

/// A consortium whose release has three rounds.
struct SeveralRounds {
  explicit SeveralRounds(std::uint64_t records = 0, privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0})
      : c(parties, plan_of_rounds(records)) {
    rounds.push_back(c.round);
  }

  release::EvidenceReader reader() {
    return [this](const std::string& name, std::uint64_t most) { return c.exchange->get(name, most); };
  }

  StepReport site(std::size_t r, std::size_t i) { return site(rounds[r], i); }
  StepReport site(const ProposedRound& round, std::size_t i) { return site(round, i, *c.exchange); }
  StepReport site(const ProposedRound& round, std::size_t i, Exchange& through) {
    return contributor_step(round, through, job_of(i));
  }
  ContributorJob job_of(std::size_t i) {
    ContributorJob own = c.job_of(i, c.before());
    own.sum_records = [this, i](const ProposedRound& asked) {
      return OwnSums{embed::TestAccess::make(World::sums_of(asked, i)), c.records_of_a_site};
    };
    return own;
  }
  StepReport holder(std::size_t r, std::size_t h) { return holder(r, h, *c.exchange); }
  StepReport holder(std::size_t r, std::size_t h, Exchange& through) {
    return holder_step(rounds[r], through, job_of_holder(r, h, c.before()));
  }
  StepReport holder(std::size_t r, std::size_t h, std::uint64_t now) {
    return holder_step(rounds[r], *c.exchange, job_of_holder(r, h, now));
  }
  HolderJob job_of_holder(std::size_t r, std::size_t h, std::uint64_t now) {
    return {c.world.holders[h],
            c.of(c.world.holders[h]),
            c.clock(now),
            [this](std::uint64_t number) { return !erased.contains(number); },
            [](std::uint64_t number) { return round_key_of(number); },
            [this](const release::HolderKey& key) { erased.insert(key.number); },
            shares_of(r, h),
            [this, h] { return std::make_unique<CountedEntropy>(World::seed_of_holder(h), c.draws); },
            "1.2.3"};
  }
  std::filesystem::path shares_of(std::size_t r, std::size_t h) const {
    return c.of(c.world.holders[h]) / ("shares-" + release::short_id(rounds[r].id));
  }
  StepReport coordinator(std::size_t r, std::uint64_t now = 0) {
    return coordinator_step(
        rounds[r], *c.exchange,
        {c.world.coordinator, c.of(c.world.coordinator), c.clock(now > 0 ? now : c.before()), "1.2.3"});
  }
  /// To its sum, or its release.
  void run(std::size_t r) {
    for (std::size_t i = 0; i < 4; ++i) site(r, i);
    coordinator(r);
    for (std::size_t h = 0; h < c.world.holders.size(); ++h) holder(r, h);
    coordinator(r);
  }
  /// Without the last site and, of those who may be missing, the key holder `gone`.
  void run_without(std::size_t r, std::size_t gone) {
    const std::uint64_t late = rounds[r].proposal.open_until + 1;
    for (std::size_t i = 0; i < 3; ++i) site(r, i);
    coordinator(r, c.after());
    for (const std::uint64_t now : {c.after(), late}) {
      for (std::size_t h = 0; h < c.world.holders.size(); ++h) {
        if (h != gone) holder(r, h, now);
      }
      coordinator(r, late);  // asks the others, then adds up
    }
  }

  std::vector<release::EndedRound> ended() { return ended_rounds(rounds.back(), reader()); }
  release::Proposal next() { return proposal_after(ended()); }
  /// As a message, in the exchange.
  ProposedRound proposed(const release::Proposal& p) {
    const std::string bytes = proposal_bytes(p, c.world.coordinator);
    ProposedRound round(release::parse_message(bytes, "proposal"), "proposal");
    c.exchange->put(release::proposal_name(round.id), bytes);
    return round;
  }
  void propose() { rounds.push_back(proposed(next())); }

  ConsortiumOfFolders c;
  std::vector<ProposedRound> rounds;
  std::set<std::uint64_t> erased;
};

}  // namespace muffle::round
