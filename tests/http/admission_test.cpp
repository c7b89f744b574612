// Whose messages the server's folder lets in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muffle/core/files.hpp"
#include "muffle/http/server.hpp"
#include "muffle/release/message_names.hpp"
#include "site/small_consortium.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::http {
namespace {

using namespace release;
using test::SmallConsortium;

class AdmissionTest : public testing::Test {
 protected:
  /// 0: it may come in.
  int asked(const std::string& name, const std::string& bytes) {
    const auto refusal = admission_({name, bytes, bytes.size(), sha256(PublicBytes(bytes))});
    return refusal ? refusal->status : 0;
  }
  int asked(const std::string& name, const SignedHeader& header) {
    return asked(name, message_bytes(header));
  }
  void place(const std::string& name, const std::string& bytes) {
    write_file_atomically(folder_ / name, bytes);
  }
  void place(const std::string& name, const SignedHeader& header) { place(name, message_bytes(header)); }
  static SignedHeader of_round(MessageKind kind, const crypto::RoundId& round, const crypto::SiteKey& key,
                               std::span<const std::uint64_t> numbers = {},
                               nlohmann::json body = {{"x", 1}}) {
    SignedHeader header{.kind = kind};
    header.round = round;
    header.body = std::move(body);
    return sign(std::move(header), key, numbers);
  }

  test::TemporaryFolder folder_;
  SmallConsortium all_;
  Admission admission_ = known_senders(folder_.path());
};

TEST_F(AdmissionTest, CardsAndRoundKeysOfStrangersFewAndSmall) {
  const SignedHeader& card = all_.cards[1];
  EXPECT_EQ(asked(card_name(card.sender), card), 0);
  EXPECT_EQ(asked("card-0000000000000000.mfm", card), 403) << "under another name";
  EXPECT_EQ(asked(card_name(card.sender), std::string("no message")), 400);
  std::string forged = message_bytes(card);
  forged[forged.find("NORTH")] = 'M';
  EXPECT_EQ(asked(card_name(card.sender), forged), 400) << "its signature is of another";
  const std::string keys = round_keys_name(card.sender, 0);
  EXPECT_EQ(asked(keys, all_.round_keys[0]), 403);
  place(card_name(card.sender), card);
  EXPECT_EQ(asked(keys, all_.round_keys[0]), 0);
  const auto numbers = std::vector<std::uint64_t>(100'000);
  SignedHeader large{.kind = MessageKind::kCard};
  large.body = card.body;
  large = sign(std::move(large), all_.sites[1], numbers);
  EXPECT_EQ(asked(card_name(large.sender), message_bytes(large, numbers)), 413);
  for (int i = 0; i < 200; ++i) {
    const auto key = crypto::SiteKey::generate("S" + std::to_string(i));
    const SignedHeader one =
        SmallConsortium::said(key, MessageKind::kCard, body_of(Card{.name = key.name(), .site = true}));
    place(card_name(one.sender), one);
  }
  EXPECT_EQ(asked(card_name(all_.cards[2].sender), all_.cards[2]), 403) << "the disk is not theirs";
}

TEST_F(AdmissionTest, CharterAndProposalOfTheCoordinatorThatIsThere) {
  const std::string proposed = all_.proposed(all_.proposal());
  const std::string name = proposal_name(all_.round(all_.proposal()).id);
  EXPECT_EQ(asked(charter_name(1), all_.charter), 403) << "anybody can write one";
  EXPECT_EQ(asked(name, proposed), 403);
  EXPECT_EQ(asked(countersignature_name(1, all_.sites[0].public_key()), all_.countersignatures[0]), 403);
  place(charter_name(1), all_.charter);
  EXPECT_EQ(asked(name, proposed), 0);
  EXPECT_EQ(asked(countersignature_name(1, all_.sites[0].public_key()), all_.countersignatures[0]), 0);
  const SmallConsortium others;
  EXPECT_EQ(asked(charter_name(1), others.charter), 403);
  EXPECT_EQ(asked(proposal_name(others.round(others.proposal()).id), others.proposed(others.proposal())),
            403);
}

/// What a member may fill a disk with is counted, and who is revoked is no member.
TEST_F(AdmissionTest, MembersCannotFillTheDisk) {
  place(charter_name(1), all_.charter);
  const crypto::SiteKey& north = all_.sites[0];
  const SignedHeader& yes = all_.countersignatures[0];
  for (const std::uint64_t version : {2u, 3u, 77u})
    EXPECT_EQ(asked(countersignature_name(version, north.public_key()), yes), 403) << "of version 1";
  const auto keys = [&](std::uint64_t first) {
    return SmallConsortium::said(north, MessageKind::kRoundKeys,
                                 body_of(RoundKeys{first, {crypto::ExchangeKey::generate().point()}}));
  };
  for (std::uint64_t i = 0; i < 100; ++i) {
    const SignedHeader one = keys(i);
    ASSERT_EQ(asked(round_keys_name(north.public_key(), i), one), 0) << i;
    place(round_keys_name(north.public_key(), i), one);
  }
  EXPECT_EQ(asked(round_keys_name(north.public_key(), 100), keys(100)), 403);
  SignedHeader decline{.kind = MessageKind::kDecline};
  const ProposedRound round = all_.round(all_.proposal());
  place(proposal_name(round.id), all_.proposed(all_.proposal()));
  EXPECT_EQ(asked(decline_name(round.id, north.public_key()),
                  of_round(MessageKind::kDecline, round.id, north, {}, {{"x", std::string(70'000, 'x')}})),
            413);
}

TEST_F(AdmissionTest, ARevokedKeyIsNobodys) {
  place(charter_name(1), all_.charter);
  const ProposedRound round = all_.round(all_.proposal());
  place(proposal_name(round.id), all_.proposed(all_.proposal()));
  const crypto::SiteKey& west = all_.sites[2];
  const SignedHeader decline = of_round(MessageKind::kDecline, round.id, west);
  EXPECT_EQ(asked(decline_name(round.id, west.public_key()), decline), 0);
  place(charter_name(2),
        SmallConsortium::said(all_.trial, MessageKind::kCharter,
                              body_of(Charter{.title = "stays",
                                              .version = 2,
                                              .previous = all_.charter.id(),
                                              .cards = {all_.cards.begin(), all_.cards.end() - 1},
                                              .revoked = {west.public_key()}})));
  EXPECT_EQ(asked(decline_name(round.id, west.public_key()), decline), 403);
  EXPECT_EQ(asked(card_name(west.public_key()), all_.cards[3]), 403);
  EXPECT_EQ(asked(countersignature_name(1, west.public_key()), all_.countersignatures[2]), 403);
  EXPECT_EQ(asked(decline_name(round.id, all_.sites[0].public_key()),
                  of_round(MessageKind::kDecline, round.id, all_.sites[0])),
            0);
}

TEST_F(AdmissionTest, MessagesOfARoundFromItsPartiesOfItsSize) {
  const ProposedRound round = all_.round(all_.proposal());
  const crypto::SiteKey& site = all_.sites[0];
  const std::vector<std::uint64_t> numbers(round.length);
  const auto contribution = [&](const crypto::SiteKey& key, std::span<const std::uint64_t> values) {
    return asked(contribution_name(round.id, key.public_key()),
                 message_bytes(of_round(MessageKind::kContribution, round.id, key, values), values));
  };
  EXPECT_EQ(contribution(site, numbers), 403) << "its proposal is not here";
  place(proposal_name(round.id), all_.proposed(all_.proposal()));
  EXPECT_EQ(contribution(site, numbers), 0);
  EXPECT_EQ(contribution(crypto::SiteKey::generate("EVE"), numbers), 403);
  EXPECT_EQ(contribution(site, std::vector<std::uint64_t>(round.length + 1)), 413);
  const SignedHeader seal = of_round(MessageKind::kSeal, round.id, site);
  EXPECT_EQ(asked(seal_name(round.id), seal), 403) << "the coordinator seals";
  EXPECT_EQ(asked(seal_name(round.id), of_round(MessageKind::kSeal, round.id, all_.trial)), 0);
  EXPECT_EQ(asked("x.mfm", of_round(MessageKind::kDecline, round.id, site)), 403) << "one name a message";
}

/// What the coordinator asks for, and key holders answer, where any of them may be missing.
TEST_F(AdmissionTest, StandInsWhereKeyHoldersMayBeMissing) {
  const SmallConsortium four({"NORTH", "SOUTH", "WEST", "EAST"});
  Proposal proposal = four.proposal();
  for (const int missing : {0, 1}) {
    proposal.parties.missing_holders = missing;
    proposal.stand_in_until = missing > 0 ? proposal.open_until : 0;
    const ProposedRound round = four.round(proposal);
    place(proposal_name(round.id), four.proposed(proposal));
    const int yes = missing > 0 ? 0 : 403;
    const crypto::SiteKey& north = four.sites[0];
    const auto request = [&](const crypto::SiteKey& key) {
      return asked(stand_in_request_name(round.id), of_round(MessageKind::kStandInRequest, round.id, key));
    };
    EXPECT_EQ(request(four.trial), yes);
    EXPECT_EQ(request(north), 403) << "the coordinator asks";
    const auto stand_in = [&](const crypto::SiteKey& key, std::size_t bytes) {
      return asked(stand_in_name(round.id, key.public_key()),
                   of_round(MessageKind::kStandIn, round.id, key, {}, {{"x", std::string(bytes, 'x')}}));
    };
    EXPECT_EQ(stand_in(north, 100), yes);
    EXPECT_EQ(stand_in(four.trial, 100), 403) << "it holds no key";
    EXPECT_EQ(stand_in(north, 100'000), yes) << "shares for many sites";
    EXPECT_EQ(stand_in(north, kMostBytesOfLists), missing > 0 ? 413 : 403);
    EXPECT_EQ(asked(stand_in_name(round.id, four.sites[1].public_key()),
                    of_round(MessageKind::kStandIn, round.id, north)),
              403)
        << "under another's name";
  }
}

TEST_F(AdmissionTest, AReleaseThatItsCoordinatorHasStated) {
  const ProposedRound round = all_.round(all_.proposal());
  place(proposal_name(round.id), all_.proposed(all_.proposal()));
  const std::string release = "the release's bytes";
  EXPECT_EQ(asked(release_name(round.id), release), 403);
  place(release_statement_name(round.id),
        of_round(MessageKind::kRelease, round.id, all_.trial, {},
                 {{"release_sha256", to_hex(sha256(PublicBytes(release)))}}));
  EXPECT_EQ(asked(release_name(round.id), "other bytes"), 403);
  EXPECT_EQ(asked(release_name(round.id), release), 0);
}

}  // namespace
}  // namespace muffle::http
