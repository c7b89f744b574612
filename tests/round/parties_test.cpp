// A round between institutions, without any of its files: what each role makes of the messages that it is
// given.
#include "muffle/round/parties.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "muffle/core/container.hpp"
#include "round/parties_world.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {

using namespace release;

namespace {

using nlohmann::json;
using test::expect_error;

std::vector<Message> contributions_of(const World& world, const ProposedRound& round,
                                      std::initializer_list<std::size_t> sites) {
  std::vector<Message> out;
  for (const std::size_t i : sites)
    out.push_back(parse_message(world.contribution(round, i), "contribution"));
  return out;
}

privacy::NoisySum sum_up(const World& world, const ProposedRound& round,
                         const std::vector<Message>& contributions) {
  const SealedRound sealed = world.seal(round, contributions);
  Summation sum(round, sealed);
  for (std::size_t h = 0; h < world.holders.size(); ++h) sum.take_opening(world.opening(round, sealed, h));
  for (const Message& m : contributions) sum.add_contribution(m);
  EXPECT_TRUE(sum.objections().empty());
  return std::move(sum).finish();
}

TEST(Parties, TheSumIsExactButForTheNoiseOfThoseWhoCame) {
  const World world;
  const ProposedRound round = world.round();
  for (const auto& sites : {std::initializer_list<std::size_t>{0, 1, 2, 3}, {3, 0, 2}}) {
    const privacy::NoisySum noisy = sum_up(world, round, contributions_of(world, round, sites));
    std::vector<std::uint64_t> expected(round.length, 0);
    for (const std::size_t i : sites) test::add_to(expected, World::sums_of(round, i));
    EXPECT_EQ(without_noise(noisy, round, sites, 3), expected) << sites.size() << " sites";
    EXPECT_FALSE(noisy.is_private) << "seeded noise, and the messages say so";
  }
}

TEST(Parties, NobodySeesASumWithoutItsNoise) {
  const World world;
  const ProposedRound round = world.round();
  const std::vector<Message> contributions = contributions_of(world, round, {0, 1, 2, 3});
  const SealedRound sealed = world.seal(round, contributions);
  // All but one opening, and the range check: numbers are uniform, far beyond what records can make.
  Summation sum(round, sealed);
  for (const Message& m : contributions) sum.add_contribution(m);
  sum.take_opening(world.opening(round, sealed, 0));
  sum.take_opening(world.opening(round, sealed, 1));
  expect_error(ExitCode::kProtocol, {"'holder2' has not opened"}, [&] { (void)std::move(sum).finish(); });
}

TEST(Parties, AContributionIsMadeOfTheChargeForItsOwnRelease) {
  const World world, other;
  const ProposedRound round = world.round();
  const auto make = [&](const crypto::RoundId& charged) {
    const auto entropy = privacy::insecure_seeded_entropy(1);
    const release::Charge charge = release::TestAccess::charge(release::charged_as(charged));
    const release::Message made = release::parse_message(
        Contributor(round, world.sites[0])
            .contribute(embed::TestAccess::make(World::sums_of(round, 0)),
                        privacy::NoiseShare(round.noise.shares(), *entropy), charge, 0),
        "contribution");
    EXPECT_EQ(release::read_contribution(made.header, 3, false).charge, charge.id());
  };
  make(round.id);
  expect_error(ExitCode::kInvariant, {"another release's charge"}, [&] { make(other.round().id); });
}

TEST(Parties, ATwoFacedCoordinatorOpensNothing) {
  const World world({4, 4, 3, 1, 3, 1, 0}, 100);
  const ProposedRound round = world.round();
  const std::vector<Message> all = contributions_of(world, round, {0, 1, 2, 3});
  const std::vector<Message> fewer(all.begin(), all.begin() + 3);
  const SealedRound one = world.seal(round, all), two = world.seal(round, fewer);
  EXPECT_NE(one.id, two.id);
  Summation sum(round, one);
  // The opening of another seal does not pass for one of this.
  expect_error(ExitCode::kProtocol, {"answers another message"},
               [&] { sum.take_opening(world.opening(round, two, 2)); });
  // Nor does it help to leave that check out: what is left is covered (PairKeys.TwoSealsOpenNothing).
  for (const Message& m : all) sum.add_contribution(m);
  for (std::size_t h = 0; h < 2; ++h) sum.take_opening(world.opening(round, one, h));
  Message lie = world.opening(round, two, 2);
  lie.header.answers = one.id;
  sum.take_opening(lie);
  expect_error(ExitCode::kProtocol, {"larger than records and noise", "no release"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(Parties, AForgedOrForeignMessageIsRefused) {
  const World world, elsewhere;
  const ProposedRound round = world.round(), other = elsewhere.round();
  const Message good = parse_message(world.contribution(round, 0), "c");
  EXPECT_EQ(check_contribution(round, good.header), 0u);
  const auto refused = [&](const char* part, SignedHeader header) {
    expect_error(ExitCode::kProtocol, {part, "Nothing was revealed"},
                 [&] { (void)check_contribution(round, header); });
  };
  refused("of another round", parse_message(elsewhere.contribution(other, 0), "c").header);
  const auto resigned = [&](const std::function<void(SignedHeader&)>& change, const crypto::SiteKey& key,
                            std::size_t numbers) {
    SignedHeader header = good.header;
    change(header);
    return sign(std::move(header), key, std::vector<std::uint64_t>(numbers, 7));
  };
  const auto same = [](SignedHeader&) {};
  refused("not invited", resigned(same, world.coordinator, round.length));
  refused("has 3 numbers", resigned(same, world.sites[0], 3));
  refused("answers another", resigned([](auto& h) { h.answers[0] ^= 1; }, world.sites[0], round.length));
  refused("a contribution was needed",
          resigned([](auto& h) { h.kind = MessageKind::kOpening; }, world.sites[0], round.length));
  // Whoever is not invited, or holds another round key, cannot act.
  expect_error(ExitCode::kConfig, {"not invited"}, [&] { Contributor(round, world.coordinator); });
  expect_error(ExitCode::kConfig, {"key holders"},
               [&] { KeyHolder(round, world.sites[0], world.round_key(0)); });
  expect_error(ExitCode::kConfig, {"another round key", "number 0"},
               [&] { KeyHolder(round, world.holders[0], world.round_key(1)); });
}

TEST(Parties, ASealCountsWhoWasInvitedOnceAndEnoughOfThem) {
  const World world;
  const ProposedRound round = world.round();
  const std::vector<Message> all = contributions_of(world, round, {2, 0, 1, 3});
  std::vector<SignedHeader> headers;
  for (const Message& m : all) headers.push_back(m.header);
  const SealedRound sealed = world.seal(round, all);
  EXPECT_EQ(sealed.sites, (std::vector<std::size_t>{0, 1, 2, 3}));
  expect_error(ExitCode::kConfig, {"2 contributions are there, and the round needs 3"}, [&] {
    (void)make_seal(round, world.coordinator, {headers[0], headers[1]});
  });
  expect_error(ExitCode::kConfig, {"coordinator"}, [&] { (void)make_seal(round, world.sites[0], headers); });
  expect_error(ExitCode::kProtocol, {"twice"}, [&] {
    (void)make_seal(round, world.coordinator, {headers[0], headers[1], headers[0], headers[2]});
  });
  // What a lying coordinator signs, a key holder refuses by itself.
  const auto lie = [&](const crypto::SiteKey& key, std::vector<SignedHeader> counted,
                       const Sha256Digest& answers) {
    SignedHeader header{.kind = MessageKind::kSeal, .round = round.id, .answers = answers};
    header.body = body_of(Seal{std::move(counted)});
    return parse_message(message_bytes(sign(std::move(header), key)), "seal").header;
  };
  const std::vector<SignedHeader>& in_order = sealed.seal.contributions;
  const auto refused = [&](const char* part, const SignedHeader& header) {
    expect_error(ExitCode::kProtocol, {part}, [&] { SealedRound(round, header); });
  };
  refused("counts 2 contributions", lie(world.coordinator, {in_order[0], in_order[1]}, round.id));
  refused("twice, or not in", lie(world.coordinator, {in_order[0], in_order[0], in_order[1]}, round.id));
  refused("twice, or not in", lie(world.coordinator, {in_order[1], in_order[0], in_order[2]}, round.id));
  refused("not the coordinator's", lie(world.sites[0], in_order, round.id));
  refused("answers another", lie(world.coordinator, in_order, {}));
  std::vector<SignedHeader> forged = in_order;
  forged[1].body["records"] = 1;
  refused("signature", lie(world.coordinator, forged, round.id));
}

// A vector that is not what was masked: the holder whose key it is objects, and the sum is no release.
TEST(Parties, AWrongKeyIsAnObjectionAndASpoiledSumIsNoRelease) {
  const World world({4, 4, 3, 1, 3, 1, 0}, 100);
  const ProposedRound round = world.round();
  std::vector<Message> all = contributions_of(world, round, {0, 1, 2, 3});
  SignedHeader header = all[1].header;
  header.body["point"] = to_hex(crypto::ExchangeKey::generate().point());
  header = sign(std::move(header), world.sites[1], all[1].numbers);
  all[1] = parse_message(message_bytes(header, all[1].numbers), "spoiled");
  const SealedRound sealed = world.seal(round, all);
  Summation sum(round, sealed);
  for (const Message& m : all) sum.add_contribution(m);
  for (std::size_t h = 0; h < 3; ++h) sum.take_opening(world.opening(round, sealed, h));
  EXPECT_EQ(sum.objections(), (std::vector<std::string>{"site1", "site1", "site1"}));
  expect_error(ExitCode::kProtocol, {"no release", "object to site1"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(Parties, NothingIsAddedTwice) {
  const World world;
  const ProposedRound round = world.round();
  const std::vector<Message> all = contributions_of(world, round, {0, 1, 2});
  const SealedRound sealed = world.seal(round, all);
  Summation sum(round, sealed);
  sum.add_contribution(all[0]);
  expect_error(ExitCode::kProtocol, {"twice"}, [&] { sum.add_contribution(all[0]); });
  const Message late = parse_message(world.contribution(round, 3), "late");
  expect_error(ExitCode::kProtocol, {"not among those that were sealed"},
               [&] { sum.add_contribution(late); });
  sum.take_opening(world.opening(round, sealed, 0));
  expect_error(ExitCode::kProtocol, {"has opened the seal already"},
               [&] { sum.take_opening(world.opening(round, sealed, 0)); });
  sum.add_contribution(all[1]);
  for (const std::size_t h : {1u, 2u}) sum.take_opening(world.opening(round, sealed, h));
  expect_error(ExitCode::kProtocol, {"'site2' was sealed, and is missing"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(Messages, ProposalsSayAllAndLiesAreRefused) {
  const World world;
  const ProposedRound round = world.round();
  EXPECT_EQ(round.proposal.title, "stays of 2026");
  EXPECT_EQ(round.proposal.parties, (privacy::RoundParties{4, 4, 3, 1, 3, 1, 0}));
  EXPECT_EQ(round.length, round.proposal.plan.size());
  const auto refused = [&](const std::string& pointer, const json& value, const std::string& part,
                           ExitCode code = ExitCode::kProtocol) {
    SignedHeader header = parse_message(world.proposed, "p").header;
    header.body[json::json_pointer(pointer)] = value;
    const std::string bytes = message_bytes(sign(std::move(header), world.coordinator));
    expect_error(code, {part}, [&] { ProposedRound(parse_message(bytes, "p"), "p"); });
  };
  const json body = parse_message(world.proposed, "p").header.body;
  refused("/sites/1/key", body["sites"][0]["key"], "twice");
  refused("/sites/1/name", body["sites"][0]["name"], "twice");
  refused("/sites/1/name", "no name", "no name of a site");
  refused("/holders/1/point", body["holders"][0]["point"], "twice");
  refused("/holders/1/key", "beef", "holders.key");
  refused("/plan/records", 9, "contradicts itself");
  refused("/plan/file", "/home/somebody", "does not know");
  refused("/open_until", 1u, "open_until");
  refused("/extra", true, "extra");
  refused("/least", 1u, "least", ExitCode::kConfig);
  refused("/missing_holders", 1u, "stand_in_until");
  refused("/colluding_holders", 3u, "key holders", ExitCode::kConfig);
}

TEST(Messages, EveryByteIsItsSenders) {
  const World world;
  const std::string good = world.contribution(world.round(), 0);
  const Message message = parse_message(good, "m");
  EXPECT_EQ(message_bytes(message.header, message.numbers), good);
  for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    EXPECT_THROW((void)parse_message(bad, "m"), ProtocolError) << at;
    EXPECT_THROW((void)parse_message(std::string_view(good).substr(0, at), "m"), ProtocolError) << at;
  }
  // With a checksum that fits: the signature holds what the checksum does not.
  const auto changed = [&](const char* part, const std::function<void(Container&)>& change) {
    Container container = parse_container(good, "muffle-message", 1, "m");
    change(container);
    expect_error(ExitCode::kProtocol, {part}, [&] { (void)parse_message(serialize(container), "m"); });
  };
  changed("other values", [](Container& c) { c.payload[0] ^= std::byte{1}; });
  changed("another number of values", [](Container& c) { c.payload.resize(c.payload.size() - 8); });
  changed("another number of values", [](Container& c) { c.payload.resize(c.payload.size() - 1); });
  const json flat = json{{"message", header_json(message.header)}}.flatten();
  for (const auto& entry : flat.items()) {
    const json::json_pointer at(entry.key());
    json other = 12345u;
    if (entry.value().is_string()) {
      const auto text = entry.value().get<std::string>();
      other = (text[0] == 'a' ? "b" : "a") + text.substr(1);
    }
    changed("", [&](Container& c) { c.header[at] = other; });
  }
}

}  // namespace
}  // namespace muffle::round
