#include "muffle/round/sync.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "muffle/round/status.hpp"
#include "round/consortium.hpp"
#include "site/small_consortium.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace {

using release::MessageKind;
using release::SignedHeader;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// A party with a folder of its own, and the exchange of a consortium far away.
class Sync : public testing::Test {
 protected:
  std::unique_ptr<Exchange> folder(const std::string& name) const {
    fs::create_directories(c_.folder / name);
    return make_exchange((c_.folder / name).string());
  }
  Synced sync(const Names& own = {}) { return synchronise(*local_, remote_, own, limits_); }
  /// Under whatever name, whatever it is.
  void place(const std::string& name, const std::string& bytes) const {
    std::ofstream(c_.folder / "exchange" / name, std::ios::binary) << bytes;
  }
  static std::string refusals(const Synced& synced) {
    std::string out;
    for (const SetAside& a : synced.refused) out += a.name + ": " + a.why + "\n";
    return out;
  }
  std::string card(const crypto::SiteKey& key) const {
    SignedHeader header{.kind = MessageKind::kCard};
    header.body = body_of(release::Card{.name = key.name(), .site = true});
    return release::message_bytes(sign(std::move(header), key));
  }

  ConsortiumOfFolders c_;
  std::unique_ptr<Exchange> local_ = folder("local");
  Exchange& remote_ = *c_.exchange;
  SyncLimits limits_{.coordinator = c_.world.coordinator.public_key()};
};

TEST_F(Sync, CarriesBothWaysAndThenNothing) {
  for (const std::size_t i : {0u, 1u, 2u, 3u}) c_.site(i, c_.before());
  c_.coordinator(c_.before());
  local_->put(release::card_name(c_.world.sites[0].public_key()), card(c_.world.sites[0]));
  const Synced first = sync();
  EXPECT_EQ(first.fetched.size(), 6u) << refusals(first);
  EXPECT_EQ(first.fetched.front(), release::proposal_name(c_.round.id)) << "before what answers it";
  EXPECT_EQ(first.sent, Names{release::card_name(c_.world.sites[0].public_key())});
  EXPECT_TRUE(first.refused.empty()) << refusals(first);
  EXPECT_EQ(local_->list(), remote_.list());
  EXPECT_EQ(local_->get(c_.contribution_of(2), 1 << 20), c_.in_exchange(c_.contribution_of(2)));
  for (std::size_t h = 0; h < 3; ++h) c_.holder(h, c_.before());
  c_.coordinator(c_.before());
  EXPECT_EQ(sync().fetched.size(), 5u) << "openings, release and statement";
  const Synced again = sync();
  EXPECT_TRUE(again.fetched.empty() && again.sent.empty() && again.refused.empty());
}

// A site needs what answers it, a key holder the seal, and neither what only the coordinator adds up.
TEST_F(Sync, APartyFetchesWhatItsStepsRead) {
  limits_.reader = c_.world.sites[1].public_key();
  for (const std::size_t i : {0u, 1u, 2u, 3u}) c_.site(i, c_.before());
  EXPECT_EQ(sync().fetched, (Names{release::proposal_name(c_.round.id), c_.contribution_of(1)}))
      << "its own, too: after a restored backup it might have made another one";
  EXPECT_EQ(sync().left, 3u);
  c_.coordinator(c_.before());
  EXPECT_EQ(sync().fetched, Names{release::seal_name(c_.round.id)});
  std::string status = status_text(read_status(*local_, c_.round, c_.before()));
  EXPECT_THAT(status, HasSubstr("counts by the seal, and its contribution is not here"));
  EXPECT_THAT(status, HasSubstr("no opening here yet"));
  for (std::size_t h = 0; h < 3; ++h) c_.holder(h, c_.before());
  c_.coordinator(c_.before());
  const Synced last = sync();
  EXPECT_EQ(last.fetched,
            (Names{release::release_statement_name(c_.round.id), release::release_name(c_.round.id)}))
      << refusals(last);
  EXPECT_EQ(last.left, 3u + 3);
  EXPECT_TRUE(last.refused.empty());
  EXPECT_EQ(c_.site(1, c_.before(), *local_).done, Names{"the round is released"});
  status = status_text(read_status(*local_, c_.round, c_.before()));
  EXPECT_THAT(status, HasSubstr("released: everybody can verify it"));
  EXPECT_THAT(status, HasSubstr("opened, and its opening is not here"));
  limits_.reader.reset();  // muffle site sync --evidence
  EXPECT_EQ(sync().fetched.size(), 6u);
  EXPECT_EQ(local_->list(), remote_.list());
}

// Each of n sites would fetch n of them, and none has a use for them.
TEST_F(Sync, ThatOthersAcceptACharterASiteNeedsNotKnow) {
  const test::SmallConsortium all;
  remote_.put(release::charter_name(1), release::message_bytes(all.charter));
  for (const SignedHeader& yes : all.countersignatures)
    remote_.put(release::countersignature_name(1, yes.sender), release::message_bytes(yes));
  limits_.reader = all.sites[1].public_key();
  const Synced one = sync();
  EXPECT_THAT(one.fetched,
              testing::UnorderedElementsAre(release::proposal_name(c_.round.id), release::charter_name(1),
                                            release::countersignature_name(1, all.sites[1].public_key())));
  EXPECT_EQ(one.left, 2u);
  EXPECT_TRUE(one.refused.empty()) << refusals(one);
  limits_.reader.reset();  // the coordinator
  EXPECT_EQ(sync().fetched.size(), 2u);
}

// The abandonment comes with the very synchronisation that would have sent what it is about.
TEST_F(Sync, WhatHasNotLeftWhenItsRoundIsAbandonedStays) {
  sync();
  c_.site(0, c_.before(), *local_);
  ASSERT_TRUE(local_->get(c_.contribution_of(0), 1 << 20));
  local_->put(release::card_name(c_.world.sites[0].public_key()), card(c_.world.sites[0]));
  abandon_round(c_.round, remote_,
                {c_.world.coordinator, c_.of(c_.world.coordinator), c_.clock(c_.before()), "1.2.3"},
                release::AbandonCode::kPerson);
  const Synced held = sync();
  EXPECT_EQ(held.held, Names{c_.contribution_of(0)});
  EXPECT_EQ(held.sent, Names{release::card_name(c_.world.sites[0].public_key())});
  EXPECT_FALSE(c_.is_in_exchange(c_.contribution_of(0)));
  EXPECT_THAT(in_words(held), HasSubstr("its round is abandoned"));
  // Nor if the server hides the abandonment from then on.
  fs::remove(c_.folder / "exchange" / release::abandonment_name(c_.round.id));
  EXPECT_EQ(sync().held, Names{c_.contribution_of(0)});
  EXPECT_FALSE(c_.is_in_exchange(c_.contribution_of(0)));
}

TEST_F(Sync, OpeningsOfAnAbandonedRoundStayAndReceiptsGo) {
  for (const std::size_t i : {0u, 1u, 2u, 3u}) c_.site(i, c_.before());
  c_.coordinator(c_.before());
  sync();
  c_.holder(1, c_.before(), *local_);
  ASSERT_TRUE(local_->get(c_.opening_of(1), 1 << 20));
  abandon_round(c_.round, remote_,
                {c_.world.coordinator, c_.of(c_.world.coordinator), c_.clock(c_.before()), "1.2.3"},
                release::AbandonCode::kPerson);
  EXPECT_EQ(sync().held, Names{c_.opening_of(1)});
  c_.holder(1, c_.before(), *local_);  // its receipt for the abandonment
  const Synced next = sync();
  EXPECT_EQ(next.held, Names{c_.opening_of(1)});
  EXPECT_THAT(next.sent,
              testing::Contains(release::receipt_name(c_.round.id, c_.world.holders[1].public_key())));
  EXPECT_FALSE(c_.is_in_exchange(c_.opening_of(1)));
}

// What somebody else says of the round ends nothing.
TEST_F(Sync, AnAbandonmentIsTheCoordinators) {
  sync();
  c_.site(0, c_.before(), *local_);
  release::SignedHeader header = release::abandonment_of(c_.round, release::AbandonCode::kPerson);
  local_->put(release::abandonment_name(c_.round.id),
              release::message_bytes(sign(std::move(header), c_.world.sites[3])));
  EXPECT_THAT(sync().sent, testing::Contains(c_.contribution_of(0)));
}

// To add the round up, and to see whom it stands in for.
TEST_F(Sync, AKeyHolderFetchesAll) {
  const ConsortiumOfFolders c({4, 4, 3, 1, 4, 1, 1});
  const auto reads = [&](const crypto::SitePublicKey& party) {
    std::size_t out = 0;
    for (const auto& [name, most] : release::messages_of(c.round))
      out += release::is_for(party, c.round, name);
    return out;
  };
  const std::size_t all = release::messages_of(c.round).size();
  EXPECT_EQ(reads(c.world.holders[2].public_key()), all);
  EXPECT_EQ(reads(c.world.sites[2].public_key()), all - 3 - 4 - 4);
}

TEST_F(Sync, AnOwnMessageThatIsAnotherOneThereIsFound) {
  const std::string own = release::card_name(c_.world.sites[0].public_key());
  local_->put(own, card(c_.world.sites[0]));
  remote_.put(own, "before the backup was restored");
  EXPECT_TRUE(sync().conflicts.empty()) << "of others' messages nobody asks twice";
  const Synced synced = sync({own, "never-made"});
  ASSERT_EQ(synced.conflicts.size(), 1u);
  EXPECT_THAT(synced.conflicts[0].why, HasSubstr("is there already"));
  EXPECT_EQ(remote_.get(own, 100), "before the backup was restored");
}

/// Takes nothing of one name.
class Picky final : public Exchange {
 public:
  Picky(Exchange& inner, std::string name) : inner_(inner), name_(std::move(name)) {}
  void put(const std::string& name, std::string_view bytes) override {
    if (name == name_) throw ProtocolError("'" + name_ + "' is refused.");
    inner_.put(name, bytes);
  }
  Names list() override { return inner_.list(); }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    return inner_.get(name, most);
  }

 private:
  Exchange& inner_;
  std::string name_;
};

TEST_F(Sync, OneRefusedMessageDoesNotStopTheOthers) {
  for (const crypto::SiteKey& site : c_.world.sites)
    local_->put(release::card_name(site.public_key()), card(site));
  Picky picky(remote_, release::card_name(c_.world.sites[1].public_key()));
  const Synced synced = synchronise(*local_, picky, {}, limits_);
  EXPECT_EQ(synced.sent.size(), 3u);
  EXPECT_EQ(synced.fetched.size(), 1u);
  ASSERT_EQ(synced.refused.size(), 1u);
  EXPECT_THAT(in_words(synced), HasSubstr("is refused"));
}

// What a hostile server may send: nothing of it lands on this disk, and none of it ends the synchronisation.
TEST_F(Sync, WhatIsOfNobodyInAKnownRoundIsNotFetched) {
  c_.site(0, c_.before());
  const std::string id = release::short_id(c_.round.id);
  const ConsortiumOfFolders other;  // of another coordinator
  place(release::proposal_name(other.round.id), other.world.proposed);
  for (int i = 0; i < 50; ++i) place("invented-" + std::to_string(i), std::string(1000, 'x'));
  place(id + "-contribution-0123456789abcdef.mfm", c_.in_exchange(c_.contribution_of(0)));
  place("0123456789abcdef-contribution-0123456789abcdef.mfm", "x");
  place(c_.contribution_of(1), c_.in_exchange(c_.contribution_of(0)));  // another's
  place(c_.contribution_of(2), "<html>");
  place("card-0123456789abcdef.mfm", card(c_.world.sites[0]));  // under another name
  place(release::release_name(c_.round.id), "no release");
  const Synced synced = sync();
  EXPECT_EQ(synced.fetched, (Names{release::proposal_name(c_.round.id), c_.contribution_of(0)}));
  EXPECT_EQ(synced.refused.size(), 57u) << refusals(synced);
  EXPECT_THAT(refusals(synced), HasSubstr("another coordinator"));
  EXPECT_THAT(refusals(synced), HasSubstr("of nobody in it"));
  EXPECT_EQ(local_->list().size(), 2u);
  EXPECT_LT(in_words(synced).size(), 10'000u) << "few are named";
  // Who has pinned nobody gets proposals to look at, and no vectors.
  limits_.coordinator.reset();
  const auto newcomer = folder("newcomer");
  EXPECT_EQ(synchronise(*newcomer, remote_, {}, limits_).fetched.size(), 2u);
}

TEST_F(Sync, NumberSizeBytesAndTimeAreBounded) {
  c_.site(0, c_.before());
  for (const crypto::SiteKey& site : c_.world.sites) place(release::card_name(site.public_key()), card(site));
  place(c_.contribution_of(1), std::string(release::most_bytes(c_.round.length) + 1, 'x'));
  fs::remove(c_.folder / "exchange" / release::card_name(c_.world.sites[3].public_key()));
  place(release::card_name(c_.world.sites[3].public_key()), std::string((1u << 16) + 1, 'x'));
  limits_.messages = 3;
  const Synced few = sync();
  EXPECT_EQ(few.fetched.size(), 1u + 1 + 2) << refusals(few);
  EXPECT_THAT(refusals(few), HasSubstr("no more are taken"));
  EXPECT_THAT(refusals(few), HasSubstr("at most"));
  limits_ = {.coordinator = limits_.coordinator, .bytes = 1};
  const auto second = folder("second");
  const Synced little = synchronise(*second, remote_, {}, limits_);
  EXPECT_EQ(little.fetched.size(), 1u);
  EXPECT_THAT(little.unfinished, HasSubstr("the rest is left to the next time"));
  limits_ = {.coordinator = limits_.coordinator, .seconds = -1};
  const auto third = folder("third");
  EXPECT_TRUE(synchronise(*third, remote_, {}, limits_).fetched.empty());
}

TEST_F(Sync, APartyWorksInAFolderOfItsOwnWhereTheExchangeIsFarAway) {
  EXPECT_EQ(working_exchange(c_.folder.path(), "/mnt/share"), "/mnt/share");
  const std::string here = working_exchange(c_.folder.path(), "https://round.example.org/x");
  EXPECT_EQ(here, (c_.folder / "exchange").string());
  EXPECT_TRUE(fs::is_directory(here));
}

}  // namespace
}  // namespace muffle::round
