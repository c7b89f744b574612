#pragma once

#include <algorithm>

#include "muffle/core/hash.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/verification.hpp"
#include "round/chaos.hpp"

namespace muffle::round {

/// What the theorem says of a round, against what came of it.
class Judge {
 public:
  explicit Judge(const Chaos& chaos)
      : chaos_(chaos), c_(chaos.consortium()), round_(chaos.rounds().back()), p_(round_.proposal) {}

  void judge_round() const {
    const std::vector<std::size_t> contributed = contributors();
    if (testing::Test::HasFatalFailure()) return;
    // Who is in the first seal, and nobody else, is in all.
    const std::vector<std::size_t> first = sealed_in(chaos_.rounds().front());
    const bool later = p_.later.has_value();
    const std::size_t least = later ? first.size() : static_cast<std::size_t>(p_.parties.least);
    if (later) {
      EXPECT_TRUE(std::ranges::includes(first, contributed));
    }
    // What came after the seal or the abandonment does not count; what came before it does.
    ASSERT_TRUE(chaos_.in_time().has_value());
    const bool enough_came = static_cast<std::size_t>(*chaos_.in_time()) >= least;
    const bool sealed = has(release::seal_name(round_.id)), summed = chaos_.has_summed(round_);
    if (enough_came) {
      EXPECT_TRUE(sealed) << *chaos_.in_time() << " contributions lay before the coordinator at the deadline";
    }
    if (contributed.size() < least) {
      EXPECT_FALSE(sealed || summed);
    }
    if (sealed) {
      EXPECT_GE(sealed_in(round_).size(), least);
      EXPECT_TRUE(std::ranges::includes(contributed, sealed_in(round_)));
    }
    EXPECT_TRUE(sealed || has(release::abandonment_name(round_.id)))
        << "after the deadline the coordinator seals, or says that it does not";
    const bool opened = have_opened();
    if (sealed && (opened || away() <= p_.parties.missing_holders)) {
      EXPECT_TRUE(summed) << "the theorem promises a sum";
    }
    Tally& tally = chaos_.tally();
    tally.enough += enough_came;
    tally.summed += summed;
    tally.stood_in += summed && !opened;
    tally.later += summed && later;
    tally.again += summed && later && chaos_.is_proposed_again();
  }

  /// Everybody can add it up again, round by round.
  void verify_release() const {
    const std::string name = release::release_name(round_.id);
    const std::string bytes = c_.in_exchange(name);
    release::Evidence evidence;
    evidence.name = name;
    evidence.release = bytes;
    evidence.messages = release::evidence_in((c_.folder / "exchange").string());
    evidence.trusted = crypto::SignerKey{"coordinator", c_.world.coordinator.public_key()};
    for (const release::Check& check : release::verify_release(evidence).checks)
      EXPECT_NE(check.outcome, release::Check::Outcome::kFail) << check.name << ": " << check.detail;
  }

 private:
  bool has(const std::string& name) const { return chaos_.seen().contains(name); }

  /// Sites of whom anybody has seen a contribution to this round: each is what its ledger has made for its
  /// charge.
  std::vector<std::size_t> contributors() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < p_.sites.size(); ++i) {
      const Party& site = chaos_.site(i);
      const auto found = chaos_.seen().find(release::contribution_name(round_.id, p_.sites[i].key));
      if (found == chaos_.seen().end()) {
        chaos_.tally().spent += site.has_drawn(p_.number());
        continue;
      }
      out.push_back(i);
      if (site.restored()) continue;
      const privacy::LedgerState ledger = privacy::read_ledger(site.ledger());
      EXPECT_EQ(ledger.charges.size(), 1u) << "one charge, for all rounds";
      if (ledger.charges.size() != 1) continue;
      EXPECT_EQ(release::bound_contribution(round_, ledger.charges[0]),
                to_hex(sha256(PublicBytes(found->second))))
          << "a contribution that its ledger does not count";
    }
    return out;
  }

  std::vector<std::size_t> sealed_in(const ProposedRound& round) const {
    const auto found = chaos_.seen().find(release::seal_name(round.id));
    if (found == chaos_.seen().end()) return {};
    return release::SealedRound(round, release::parse_message(found->second, "the seal").header).sites;
  }

  bool have_opened() const {
    return std::ranges::all_of(p_.holders, [&](const release::HolderKey& h) {
      return has(release::opening_name(round_.id, h.holder.key));
    });
  }
  /// Key holders who are silent, or are not what they were since their disks were put back.
  int away() const {
    int count = 0;
    for (std::size_t h = 0; h < p_.holders.size(); ++h) count += chaos_.is_away(chaos_.holder(h));
    return count;
  }

  const Chaos& chaos_;
  const ConsortiumOfFolders& c_;
  const ProposedRound& round_;
  const release::Proposal& p_;
};

}  // namespace muffle::round
