// Cards, charters, countersignatures and round keys: what is read, and what is refused.
#include "muffle/release/membership.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;
using test::expect_error;

SignedHeader signed_by(const crypto::SiteKey& key, MessageKind kind, json body,
                       const Sha256Digest& answers = {}) {
  SignedHeader header{.kind = kind, .answers = answers};
  header.body = std::move(body);
  return sign(std::move(header), key);
}

struct Members {
  Members() {
    for (const crypto::SiteKey* key : {&trial, &north, &south}) {
      Card card{.name = key->name(), .box = crypto::ExchangeKey::generate().point()};
      (key == &trial ? card.coordinator : card.site) = true;
      cards.push_back(signed_by(*key, MessageKind::kCard, body_of(card)));
    }
  }
  Charter first() const { return {.title = "stays", .admission = "by telephone", .cards = cards}; }
  SignedHeader charter(const Charter& charter) const {
    return signed_by(trial, MessageKind::kCharter, body_of(charter));
  }
  crypto::SiteKey trial = crypto::SiteKey::generate("TRIAL"), north = crypto::SiteKey::generate("NORTH"),
                  south = crypto::SiteKey::generate("SOUTH");
  std::vector<SignedHeader> cards;
};

TEST(Membership, ACharterSaysWhoIsInIt) {
  const Members m;
  const SignedHeader header = m.charter(m.first());
  // As a file, there and back.
  const Message message = parse_message(message_bytes(header), "charter");
  const Consortium consortium(message.header, "charter");
  EXPECT_EQ(consortium.id, header.id());
  EXPECT_EQ(consortium.coordinator, m.trial.public_key());
  ASSERT_EQ(consortium.members.size(), 3u);
  EXPECT_EQ(consortium.find(m.south.public_key())->card.name, "SOUTH");
  EXPECT_EQ(consortium.find("NORTH")->key, m.north.public_key());
  EXPECT_EQ(consortium.find("EAST"), nullptr);
  EXPECT_EQ(body_of(consortium.charter), header.body);
}

TEST(Membership, ForgedAndConfusedChartersAreRefused) {
  const Members m;
  const auto refused = [&](const std::string& why, const std::function<void(Charter&)>& change) {
    Charter charter = m.first();
    change(charter);
    expect_error(ExitCode::kProtocol, {why}, [&] { Consortium(m.charter(charter), "charter"); });
  };
  refused("twice", [&](Charter& c) { c.cards.push_back(c.cards[1]); });
  refused("coordinator", [&](Charter& c) { c.cards.erase(c.cards.begin()); });
  refused("revoked", [&](Charter& c) { c.revoked = {m.north.public_key()}; });
  refused("previous", [&](Charter& c) { c.version = 2; });
  refused("previous", [&](Charter& c) { c.previous[0] = 1; });
  refused("version", [&](Charter& c) { c.version = 0; });
  refused("terminal", [&](Charter& c) { c.title = "a\x1b[2Jb"; });
  refused("exactly one coordinator", [&](Charter& c) {
    const crypto::SiteKey second = crypto::SiteKey::generate("SECOND");
    c.cards.push_back(
        signed_by(second, MessageKind::kCard, body_of(Card{.name = "SECOND", .coordinator = true})));
  });
  // Another key under a member's name; a card that somebody else signed; a card that is none.
  refused("twice", [&](Charter& c) {
    const crypto::SiteKey other = crypto::SiteKey::generate("NORTH");
    c.cards.push_back(signed_by(other, MessageKind::kCard, body_of(Card{.name = "NORTH", .site = true})));
  });
  refused("signature", [&](Charter& c) { c.cards[1].sender = m.south.public_key(); });
  refused("signature", [&](Charter& c) { c.cards[1].body["name"] = "NORTHERN"; });
  refused("no card",
          [&](Charter& c) { c.cards[1] = signed_by(m.north, MessageKind::kDecline, json::object()); });
  // Signed by a member who is no coordinator.
  expect_error(ExitCode::kProtocol, {"coordinator"},
               [&] { Consortium(signed_by(m.north, MessageKind::kCharter, body_of(m.first())), "charter"); });
}

TEST(Membership, AVersionFollowsTheOneBefore) {
  const Members m;
  const Consortium one(m.charter(m.first()), "charter");
  Charter next = m.first();
  next.version = 2;
  next.previous = one.id;
  next.cards.pop_back();
  next.revoked = {m.south.public_key()};
  const Consortium two(m.charter(next), "charter");
  two.require_follows(one);
  expect_error(ExitCode::kProtocol, {"no next version"}, [&] { one.require_follows(two); });
  Charter third = next;
  third.version = 3;
  third.previous = two.id;
  third.revoked.clear();
  expect_error(ExitCode::kProtocol, {"was revoked"},
               [&] { Consortium(m.charter(third), "c").require_follows(two); });
  third = next;
  third.version = 3;
  expect_error(ExitCode::kProtocol, {"no next version"},
               [&] { Consortium(m.charter(third), "c").require_follows(two); });
}

TEST(Membership, MembersCountersign) {
  const Members m;
  const Consortium consortium(m.charter(m.first()), "charter");
  const SignedHeader yes = sign(countersignature_of(consortium), m.north);
  EXPECT_EQ(check_countersignature(consortium, yes).card.name, "NORTH");
  const crypto::SiteKey stranger = crypto::SiteKey::generate("EAST");
  expect_error(ExitCode::kProtocol, {"no member"},
               [&] { check_countersignature(consortium, sign(countersignature_of(consortium), stranger)); });
  SignedHeader other = countersignature_of(consortium);
  other.answers[0] ^= 1;
  expect_error(ExitCode::kProtocol, {"another charter"},
               [&] { check_countersignature(consortium, sign(other, m.north)); });
  expect_error(ExitCode::kProtocol, {"no countersignature"},
               [&] { check_countersignature(consortium, m.cards[1]); });
}

TEST(Membership, CardsSayOneThing) {
  const crypto::SiteKey key = crypto::SiteKey::generate("NORTH");
  const Card good{.name = "NORTH", .site = true, .key_holder = true};
  EXPECT_EQ(read_card(signed_by(key, MessageKind::kCard, body_of(good)), "card"), good);
  EXPECT_EQ(roles_in_words(good), "site and key holder");
  const auto refused = [&](const std::string& why, const std::function<void(json&)>& change) {
    json body = body_of(good);
    change(body);
    expect_error(ExitCode::kProtocol, {why},
                 [&] { read_card(signed_by(key, MessageKind::kCard, body), "card"); });
  };
  refused("coordinator", [](json& b) { b["coordinator"] = true; });
  refused("coordinator", [](json& b) { b["site"] = b["key_holder"] = false; });
  refused("name", [](json& b) { b["name"] = "../north"; });
  refused("box", [](json& b) { b["box"] = "00"; });
  refused("does not know", [](json& b) { b["secret"] = 1; });
  refused("no JSON object", [](json& b) { b = nullptr; });
  expect_error(ExitCode::kProtocol, {"no card (it is a charter)"},
               [&] { read_card(signed_by(key, MessageKind::kCharter, body_of(good)), "card"); });
}

TEST(Membership, RoundKeysAreNumberedPoints) {
  const crypto::SiteKey key = crypto::SiteKey::generate("NORTH");
  const RoundKeys good{32,
                       {crypto::ExchangeKey::generate().point(), crypto::ExchangeKey::generate().point()}};
  const RoundKeys read = read_round_keys(signed_by(key, MessageKind::kRoundKeys, body_of(good)), "keys");
  EXPECT_EQ(read.first, 32u);
  EXPECT_EQ(read.points, good.points);
  const auto refused = [&](const std::string& why, RoundKeys keys) {
    expect_error(ExitCode::kProtocol, {why},
                 [&] { read_round_keys(signed_by(key, MessageKind::kRoundKeys, body_of(keys)), "keys"); });
  };
  refused("twice", {0, {good.points[0], good.points[0]}});
  refused("no list", {0, {}});
  refused("no list", {0, std::vector<crypto::ExchangePoint>(kMostRoundKeys + 1)});
  refused("first", {std::uint64_t{1} << 40, good.points});
}

}  // namespace
}  // namespace muffle::release
