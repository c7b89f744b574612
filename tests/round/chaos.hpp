#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "muffle/round/sync.hpp"
#include "round/chaos_link.hpp"
#include "round/chaos_party.hpp"
#include "round/several_rounds.hpp"

namespace muffle::round {

/// How bad a time the parties have.
struct Weather {
  int acts = 40;            ///< of anybody, in a round, before all is calm
  unsigned broken = 2;      ///< one act in so many
  unsigned restored = 30;   ///< before one act in so many a disk is put back
  unsigned calm_links = 0;  ///< of ten journeys so many have nothing to fear
};

/// What happened.
struct Tally {
  int faults = 0, killed = 0, restored = 0, gone = 0, spent = 0, enough = 0;
  int summed = 0;    ///< rounds that have their sum, or are released
  int stood_in = 0;  ///< of these, by stand-ins
  int later = 0;     ///< of these, after a first round
  int again = 0;     ///< of these, after it was given up and proposed again
  int released = 0, ended = 0;
};

/// A release, from its first proposal to its end: each party's link to the others, and all its disk, are at
/// fault. What must hold in whatever comes of it is looked at all along; what of a round is owed to anybody
/// is judged at its end (chaos_judge.hpp).
class Chaos {
 public:
  Chaos(std::uint64_t seed, const privacy::RoundParties& parties, release::ReleasePlan plan, Weather weather,
        Tally& tally)
      : c_(parties, std::move(plan)), random_(seed), weather_(weather), tally_(tally) {
    for (const crypto::SiteKey& key : c_.world.sites) add("site", key);
    for (std::size_t h = 0; h < c_.world.holders.size(); ++h) {
      add("holder", c_.world.holders[h]);
      for (const std::uint64_t first :
           {0, 20, 30, 40, 50})  // of later rounds and, further on, of those again
        round_key_of(first + h).save(parties_.back().round_key(first + h));
    }
    add("coordinator", c_.world.coordinator);
    std::filesystem::remove(c_.folder / "exchange" / release::proposal_name(c_.round.id));
    propose(c_.world.proposed);
  }

  const ConsortiumOfFolders& consortium() const { return c_; }
  /// Those that were proposed.
  const std::vector<ProposedRound>& rounds() const { return rounds_; }
  const Party& site(std::size_t i) const { return parties_[i]; }
  const Party& holder(std::size_t h) const { return parties_[c_.world.sites.size() + h]; }
  const Party& coordinator() const { return parties_.back(); }
  /// Neither here nor what it was: in this round, or for good.
  bool is_away(const Party& p) const { return p.restored() || is_silent(p); }
  bool is_silent(const Party& p) const { return &p == gone_ || &p == asleep_; }
  bool somebody_is_gone() const { return gone_ != nullptr; }
  /// By name: what anybody ever saw there.
  const std::map<std::string, std::string>& seen() const { return seen_; }
  /// Contributions of this round that lay before the coordinator when it first looked after the deadline.
  std::optional<int> in_time() const { return in_time_; }
  bool has_summed(const ProposedRound& round) const {
    return c_.is_in_exchange(round.last() ? release::release_name(round.id) : release::sum_name(round.id));
  }
  Tally& tally() const { return tally_; }

  /// The last round that was proposed, to its end.
  void play_round() {
    const ProposedRound& round = rounds_.back();
    in_time_.reset();
    asleep_ = nullptr;
    Party* const leaver = who_leaves();
    const bool for_good = random_() % 3 != 0;
    const auto leaves = static_cast<int>(random_() % static_cast<unsigned>(weather_.acts));
    for (int act = 0; act < weather_.acts; ++act) {
      if (act == leaves && leaver != nullptr) (for_good ? gone_ : asleep_) = leaver;
      Party& p = parties_[random_() % parties_.size()];
      if (is_silent(p)) continue;
      // The deadline comes when two thirds of the acts are done.
      const std::uint64_t deadline = round.proposal.contribute_until;
      have_a_turn(p, act * 3 < weather_.acts * 2 ? deadline - kAround_s : deadline + kAround_s);
      if (testing::Test::HasFatalFailure()) return;
    }
    calm_down(round.proposal.contribute_until + kAround_s);
    if (round.shares_keys()) calm_down(round.proposal.open_until + 1);
  }

  /// After a round that has its sum. Every other time a person gives the next one up after a few turns of
  /// anybody, and proposes it again where no contribution to it was seen. @returns whether it goes on
  bool propose_next() {
    Exchange& own = coordinator().exchange();
    const auto read = [&](const std::string& name, std::uint64_t most) { return own.get(name, most); };
    release::Proposal next = proposal_after(ended_rounds(rounds_.back(), read));
    for (std::uint64_t* const day : {&next.contribute_until, &next.open_until, &next.stand_in_until})
      *day += *day > 0 ? kBetweenRounds_s : 0;
    propose(proposal_bytes(next, c_.world.coordinator));
    again_ = random_() % 2 == 0;
    if (!again_) return true;
    for (auto turns = random_() % 6; turns > 0; --turns) {
      Party& p = parties_[random_() % parties_.size()];
      if (!is_silent(p)) have_a_turn(p, next.contribute_until - kAround_s);
      if (testing::Test::HasFatalFailure()) return false;
    }
    if (give_up(next.contribute_until - kAround_s) > 0) return false;
    for (release::HolderKey& h : next.holders) {
      h.number += 20;
      h.point = round_key_of(h.number).point();
    }
    propose(proposal_bytes(next, c_.world.coordinator));
    return true;
  }
  /// Whether the last one was.
  bool is_proposed_again() const { return again_; }

  /// Once nothing can come of it any more nobody waits, and nobody keeps what opens a sum.
  void end() {
    asleep_ = nullptr;
    const std::uint64_t over = rounds_.back().proposal.last_day() + kNextRoundWithin + 1;
    for (Party& p : parties_) {
      if (&p == gone_) continue;
      carry(p, Link::Fault::kNone);
      step(p, over, false);
      EXPECT_EQ(p.said().find("waits for"), std::string::npos) << p.world() << p.said();
      EXPECT_FALSE(p.keeps_shares()) << p.world();
      for (const ProposedRound& round : rounds_) {
        for (const release::HolderKey& key : round.proposal.holders)
          EXPECT_FALSE(p.role() == "holder" && std::filesystem::exists(p.round_key(key.number))) << p.world();
      }
    }
  }

 private:
  /// There, a step, and back, all of which may go wrong.
  void have_a_turn(Party& p, std::uint64_t now) {
    if (random_() % weather_.restored == 0) restore(p);
    carry(p, fault_on_the_way_to(p));
    step(p, now, true);
    carry(p, has_fault() ? Link::any(random_) : Link::Fault::kNone);
    if (testing::Test::HasFatalFailure()) return;
    if (random_() % 8 == 0) p.backup();
  }

  /// The last round, by a person. @returns how many contributions to it lay before the coordinator
  int give_up(std::uint64_t now) {
    const Party& p = parties_.back();
    carry(parties_.back(), Link::Fault::kNone);
    const int contributions = contributions_in(p.exchange());
    EXPECT_EQ(p.act("abandon:" + release::short_id(rounds_.back().id), now, ""), 0) << p.said();
    carry(parties_.back(), Link::Fault::kNone);
    return contributions;
  }

  static constexpr std::uint64_t kAround_s = 1000, kBetweenRounds_s = 4'000'000;

  void add(const std::string& role, const crypto::SiteKey& key) {
    parties_.emplace_back(role, key, c_.folder / ("world-" + key.name()));
  }
  void propose(const std::string& bytes) {
    rounds_.emplace_back(release::parse_message(bytes, "proposal"), "proposal");
    coordinator().exchange().put(release::proposal_name(rounds_.back().id), bytes);
  }

  /// Of those who may be missing, mostly one is: for good, or for this round. Who is gone stays so.
  Party* who_leaves() {
    const std::size_t place = c_.world.sites.size() + random_() % c_.world.holders.size();
    const bool leaves = random_() % 4 != 0;
    return c_.round.shares_keys() && leaves && gone_ == nullptr ? &parties_[place] : nullptr;
  }

  bool has_fault() { return random_() % 10 >= weather_.calm_links; }
  /// A party whose disk was put back sees what it said before, or it could say something else: nothing but
  /// the exchange knows (docs/how-to/sites.md has it keep its journal out of backups). So its link loses and
  /// doubles what it sends, and hides nothing of what lies there, as a cut would.
  Link::Fault fault_on_the_way_to(const Party& p) {
    if (!has_fault()) return Link::Fault::kNone;
    return p.restored() ? Link::any_that_hides_nothing(random_) : Link::any(random_);
  }

  void restore(Party& p) {
    if (p.role() == "coordinator") return;  // its journal is what makes it honest
    const crypto::SiteKey& key = p.role() == "site"
                                     ? c_.world.sites[static_cast<std::size_t>(&p - &parties_[0])]
                                     : c_.world.holders[0];
    p.restore([&](std::size_t number) {
      return std::ranges::any_of(rounds_, [&](const ProposedRound& round) {
        return round.proposal.number() == number &&
               seen_.contains(release::contribution_name(round.id, key.public_key()));
      });
    });
    ++tally_.faults;
    ++tally_.restored;
  }

  /// Nothing goes wrong any more, and everybody has turns enough.
  void calm_down(std::uint64_t now) {
    for (int turn = 0; turn < 3; ++turn) {
      for (Party& p : parties_) {
        if (is_silent(p)) continue;
        carry(p, Link::Fault::kNone);
        step(p, now, false);
        carry(p, Link::Fault::kNone);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// A sync, cut off anywhere; what everybody can see then is looked at.
  void carry(Party& p, Link::Fault fault) {
    tally_.faults += fault != Link::Fault::kNone;
    Link link(*c_.exchange, fault, random_);
    const std::filesystem::path sent = outbox(p.folder());
    std::vector<std::string> own;
    if (std::filesystem::exists(sent)) own = make_exchange(sent.string())->list();
    try {
      const Synced synced =
          synchronise(p.exchange(), link, own, {.coordinator = c_.world.coordinator.public_key()});
      EXPECT_TRUE(synced.conflicts.empty() || p.restored()) << in_words(synced);
    } catch (const CommError&) {
      EXPECT_EQ(fault, Link::Fault::kCut);
    }
    for (Exchange* place : {c_.exchange.get(), &p.exchange()}) {
      for (const std::string& name : place->list()) {
        const auto bytes = place->get(name, std::uint64_t{1} << 30);
        ASSERT_TRUE(seen_.emplace(name, *bytes).first->second == *bytes) << "two different ones of " << name;
      }
    }
  }

  void step(Party& p, std::uint64_t now, bool may_break) {
    if (p.role() == "coordinator" && now > rounds_.back().proposal.contribute_until && !in_time_)
      in_time_ = contributions_in(p.exchange());
    std::string fault;
    if (may_break && random_() % weather_.broken == 0) {
      constexpr const char* kActions[] = {"kill-before", "kill-after", "short-kill", "full", "power-cut"};
      fault = std::to_string(1 + random_() % (30 * rounds_.size())) + ":" + kActions[random_() % 5] + ":" +
              std::to_string(random_() % 100'000);
      ++tally_.faults;
    }
    const int ended = p.act(now, fault);
    tally_.killed += ended == -SIGKILL;
    const auto is = [&](ExitCode code) { return ended == static_cast<int>(code); };
    const bool expected = ended == 0 || (!fault.empty() && (ended == -SIGKILL || is(ExitCode::kIo))) ||
                          (p.restored() && (is(ExitCode::kProtocol) || is(ExitCode::kConfig)));
    ASSERT_TRUE(expected) << p.world() << " ended with " << ended << ", " << fault << "\n" << p.said();
    p.expect_one_draw_a_round();
  }

  int contributions_in(Exchange& place) const {
    int count = 0;
    for (const std::string& name : place.list()) {
      for (const crypto::SiteKey& key : c_.world.sites)
        count += name == release::contribution_name(rounds_.back().id, key.public_key());
    }
    return count;
  }

  ConsortiumOfFolders c_;
  std::vector<ProposedRound> rounds_;
  std::mt19937_64 random_;
  const Weather weather_;
  Tally& tally_;
  std::vector<Party> parties_;
  const Party *gone_ = nullptr, *asleep_ = nullptr;
  std::optional<int> in_time_;
  bool again_ = false;
  std::map<std::string, std::string> seen_;
};

}  // namespace muffle::round
