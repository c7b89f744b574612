#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "muffle/core/files.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/step.hpp"
#include "round/parties_world.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::round {

/// Counts how often noise is drawn for anybody.
class CountedEntropy final : public privacy::EntropySource {
 public:
  CountedEntropy(std::uint64_t seed, int& draws) : source_(privacy::insecure_seeded_entropy(seed)) {
    ++draws;
  }
  void fill(std::span<std::byte> out) override { source_->fill(out); }
  bool is_secure() const override { return false; }

 private:
  std::unique_ptr<privacy::EntropySource> source_;
};

/// A world whose parties have folders of their own and take steps over one folder of messages.
struct ConsortiumOfFolders {
  explicit ConsortiumOfFolders(privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0},
                               std::uint64_t records = 0,
                               const std::vector<std::size_t>& categories = {3, 4, 2})
      : ConsortiumOfFolders(parties, plan_of(records, categories)) {}
  ConsortiumOfFolders(privacy::RoundParties parties, release::ReleasePlan plan)
      : world(parties, std::move(plan)), round(world.round()) {
    std::filesystem::create_directory(folder / "exchange");
    exchange = make_exchange((folder / "exchange").string());
    exchange->put(release::proposal_name(round.id), world.proposed);
    for (const auto* keys : {&world.sites, &world.holders}) {
      for (const crypto::SiteKey& key : *keys) std::filesystem::create_directory(of(key));
    }
    std::filesystem::create_directory(of(world.coordinator));
  }

  std::filesystem::path of(const crypto::SiteKey& key) const { return folder / key.name(); }
  std::filesystem::path ledger(std::size_t i) const { return of(world.sites[i]) / "ledger.mfl"; }
  std::filesystem::path shares_of(std::size_t h) const { return of(world.holders[h]) / "shares"; }
  std::uint64_t before() const { return round.proposal.contribute_until - 1000; }
  std::uint64_t after() const { return round.proposal.contribute_until + 1000; }
  StepClock clock(std::uint64_t now) const {
    return {[now] { return now; }, std::chrono::milliseconds(2000), {}};
  }

  StepReport site(std::size_t i, std::uint64_t now) { return site(i, now, *exchange); }
  StepReport site(std::size_t i, std::uint64_t now, Exchange& through) {
    return contributor_step(round, through, job_of(i, now));
  }
  ContributorJob job_of(std::size_t i, std::uint64_t now) {
    return {world.sites[i],
            of(world.sites[i]),
            {ledger(i), world.sites[i].name(), budget, std::chrono::milliseconds(2000)},
            clock(now),
            [this] { return verdict; },
            [this, i](const ProposedRound&) {
              return OwnSums{embed::TestAccess::make(World::sums_of(round, i)), records_of_a_site};
            },
            [this, i] { return std::make_unique<CountedEntropy>(World::seed_of_site(i), draws); }};
  }
  StepReport holder(std::size_t h, std::uint64_t now) { return holder(h, now, *exchange); }
  StepReport holder(std::size_t h, std::uint64_t now, Exchange& through) {
    return holder_step(round, through, job_of_holder(h, now));
  }
  HolderJob job_of_holder(std::size_t h, std::uint64_t now) {
    return {world.holders[h],
            of(world.holders[h]),
            clock(now),
            [this, h](std::uint64_t) { return !erased.contains(h); },
            [this, h](std::uint64_t) { return world.round_key(h); },
            [this, h](const release::HolderKey&) { erased.insert(h); },
            shares_of(h),
            [this, h] { return std::make_unique<CountedEntropy>(World::seed_of_holder(h), draws); },
            "1.2.3"};
  }
  StepReport coordinator(std::uint64_t now) {
    return coordinator_step(round, *exchange, job_of_coordinator(now));
  }
  CoordinatorJob job_of_coordinator(std::uint64_t now) const {
    return {world.coordinator, of(world.coordinator), clock(now), "1.2.3"};
  }
  void decline(std::size_t i) {
    exchange->put(release::decline_name(round.id, world.sites[i].public_key()),
                  release::message_bytes(release::sign(
                      release::decline_of(round, release::DeclineCode::kPerson), world.sites[i])));
  }
  std::string in_exchange(const std::string& name) const { return read_file(folder / "exchange" / name); }
  bool is_in_exchange(const std::string& name) const {
    return std::filesystem::exists(folder / "exchange" / name);
  }
  std::string contribution_of(std::size_t i) const {
    return release::contribution_name(round.id, world.sites[i].public_key());
  }
  std::string opening_of(std::size_t h) const {
    return release::opening_name(round.id, world.holders[h].public_key());
  }
  release::Artifact released() const {
    const std::string name = release::release_name(round.id);
    return release::parse_artifact(in_exchange(name), name);
  }
  /// All of the exchange, by name.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> out;
    for (const std::string& name : exchange->list()) out[name] = in_exchange(name);
    return out;
  }

  test::TemporaryFolder folder;
  const World world;
  const ProposedRound round;
  std::unique_ptr<Exchange> exchange;
  SiteVerdict verdict{SiteVerdict::Answer::kYes, ""};
  std::optional<privacy::Budget> budget;
  std::uint64_t records_of_a_site = 0;
  int draws = 0;
  std::set<std::size_t> erased;
};

}  // namespace muffle::round
