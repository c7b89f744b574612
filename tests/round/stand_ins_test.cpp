// Key holders who are missing, and those who stand in for them: what is made of their shares, what is
// refused, and that requests which lie give nothing away.
#include <algorithm>
#include <functional>

#include "muffle/core/container.hpp"
#include "muffle/release/journal.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/round/status.hpp"
#include "round/consortium.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace stand_ins_test {

using namespace release;
using test::expect_error;
namespace fs = std::filesystem;

/// Four sites; of four key holders one may be missing, and one collude.
constexpr privacy::RoundParties kParties{4, 4, 3, 1, 4, 1, 1};

std::string lines_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}
#define EXPECT_TELLS(lines, part) EXPECT_NE(lines_of(lines).find(part), std::string::npos) << lines_of(lines)

/// A sealed round whose openings a test makes as it likes.
struct Sealed {
  explicit Sealed(privacy::RoundParties parties = kParties) : world(parties), round(world.round()) {
    for (std::size_t i = 0; i < world.sites.size(); ++i)
      contributions.push_back(parse_message(world.contribution(round, i), "c"));
    reseal();
  }
  void reseal() { seal.emplace(world.seal(round, contributions)); }
  KeyHolder::Opened open(std::size_t h) const {
    const auto entropy = privacy::insecure_seeded_entropy(World::seed_of_holder(h));
    return KeyHolder(round, world.holders[h], world.round_key(h)).open(*seal, *entropy);
  }
  AskedRound ask(const std::vector<std::size_t>& missing) const {
    return {round, *seal,
            parse_message(make_stand_in_request(round, *seal, world.coordinator, missing), "r").header};
  }
  SignedHeader stand_in(std::size_t h, const AskedRound& request) const {
    return parse_message(*make_stand_in(round, *seal, request, world.holders[h], *open(h).shares, {}), "s")
        .header;
  }
  /// All contributions, and the openings of these.
  Summation sum(const std::vector<std::size_t>& openers) const {
    Summation out(round, *seal);
    for (const Message& m : contributions) out.add_contribution(m);
    for (const std::size_t h : openers) out.take_opening(parse_message(open(h).message, "o"));
    return out;
  }

  const World world;
  const ProposedRound round;
  std::vector<Message> contributions;
  std::optional<SealedRound> seal;
};

/// What is released, minus the noise of all sites and of the holders who opened.
std::vector<std::uint64_t> bare(const Sealed& s, const std::vector<std::int64_t>& values,
                                const std::vector<std::size_t>& openers) {
  const auto u = static_cast<int>(s.contributions.size());
  std::vector<std::uint64_t> out(values.begin(), values.end());
  for (std::size_t i = 0; i < s.world.sites.size(); ++i) {
    const auto noise = privacy::draw_noise(s.round.noise.shares(),
                                           *privacy::insecure_seeded_entropy(World::seed_of_site(i)));
    for (std::size_t n = 0; n < out.size(); ++n) out[n] -= static_cast<std::uint64_t>(noise[n]);
  }
  for (const std::size_t h : openers) {
    const auto noise = privacy::draw_top_up(s.round.noise.top_ups(u),
                                            *privacy::insecure_seeded_entropy(World::seed_of_holder(h)));
    for (std::size_t n = 0; n < out.size(); ++n) out[n] += static_cast<std::uint64_t>(noise[n]);
  }
  return out;
}

std::vector<std::uint64_t> expected(const ProposedRound& round, std::size_t sites) {
  std::vector<std::uint64_t> out(round.length, 0);
  for (std::size_t i = 0; i < sites; ++i) test::add_to(out, World::sums_of(round, i));
  return out;
}

TEST(StandIns, WhoeverIsMissingTheSumIsTheSameBitForBit) {
  const Sealed s;
  for (std::size_t gone = 0; gone < 4; ++gone) {
    const AskedRound request = s.ask({gone});
    std::vector<std::size_t> there;
    for (std::size_t h = 0; h < 4; ++h) {
      if (h != gone) there.push_back(h);
    }
    Summation sum = s.sum(there);
    for (const std::size_t h : there) sum.take_stand_in(request, s.stand_in(h, request));
    const std::vector<OpenedBy> opened = sum.opened();
    EXPECT_FALSE(opened[gone].opening);
    EXPECT_EQ(opened[gone].stand_ins.size(), 3u);
    EXPECT_TRUE(opened[there[0]].opening && opened[there[0]].stand_ins.empty());
    EXPECT_EQ(bare(s, std::move(sum).finish().values, there), expected(s.round, 4)) << gone;
  }
}

TEST(StandIns, TwoOfEightMayBeMissing) {
  const Sealed s({3, 3, 2, 1, 8, 1, 2});
  const AskedRound request = s.ask({2, 7});
  const std::vector<std::size_t> there{0, 1, 3, 4, 5, 6};
  Summation sum = s.sum(there);
  for (const std::size_t h : there) sum.take_stand_in(request, s.stand_in(h, request));
  EXPECT_EQ(bare(s, std::move(sum).finish().values, there), expected(s.round, 3));
}

TEST(StandIns, TooFewSharesOpenNothing) {
  const Sealed s;
  const AskedRound request = s.ask({1});
  Summation sum = s.sum({0, 2, 3});
  sum.take_stand_in(request, s.stand_in(0, request));
  sum.take_stand_in(request, s.stand_in(3, request));
  EXPECT_TRUE(sum.opened()[1].stand_ins.empty());
  expect_error(ExitCode::kProtocol, {"'holder1' has not opened the seal, and too few stand in for it"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(StandIns, AWrongShareIsFoundByTheSitesCommitment) {
  const Sealed s;
  const AskedRound request = s.ask({1});
  Summation sum = s.sum({0, 2, 3});
  sum.take_stand_in(request, s.stand_in(0, request));
  sum.take_stand_in(request, s.stand_in(2, request));
  SignedHeader lie = s.stand_in(3, request);
  auto& share = lie.body["missing"][0]["shares"][2];
  share = std::string(64, share.get<std::string>()[0] == 'a' ? 'b' : 'a');
  sum.take_stand_in(request, sign(std::move(lie), s.world.holders[3]));
  expect_error(ExitCode::kProtocol, {"'site2'", "'holder1'", "does not make the key", "There is no release"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(StandIns, AWrongShareEndsNoRoundWhereEnoughRightOnesAre) {
  const Sealed s({3, 3, 2, 1, 8, 1, 2});
  const AskedRound request = s.ask({2});
  const std::vector<std::size_t> there{0, 1, 3, 4, 5, 6, 7};
  for (const std::size_t liar : {0u, 4u, 7u}) {
    SCOPED_TRACE(liar);
    Summation sum = s.sum(there);
    const auto give = [&](std::size_t h) {
      SignedHeader given = s.stand_in(h, request);
      auto& share = given.body["missing"][0]["shares"][1];
      if (h == liar) share = std::string(64, share.get<std::string>()[0] == 'a' ? 'b' : 'a');
      sum.take_stand_in(request, sign(std::move(given), s.world.holders[h]));
    };
    for (const std::size_t h : there) {
      if (h != 1) give(h);
    }
    EXPECT_TRUE(sum.opened()[2].stand_ins.empty()) << "six, of which one is wrong: the seventh may come";
    EXPECT_TRUE(sum.wrong_stand_ins().empty()) << "who, nobody can tell yet";
    give(1);
    EXPECT_EQ(sum.opened()[2].stand_ins.size(), 6u);
    EXPECT_EQ(sum.wrong_stand_ins(), std::vector<std::size_t>{liar});
    EXPECT_EQ(bare(s, std::move(sum).finish().values, there), expected(s.round, 3));
  }
  // Two are too many: said once nobody is left who could mend it.
  Summation sum = s.sum(there);
  for (const std::size_t h : there) {
    SignedHeader given = s.stand_in(h, request);
    if (h < 2) given.body["missing"][0]["shares"][1] = std::string(64, 'a');
    sum.take_stand_in(request, sign(std::move(given), s.world.holders[h]));
  }
  expect_error(ExitCode::kProtocol, {"'site1'", "does not make the key"},
               [&] { (void)std::move(sum).finish(); });
}

TEST(StandIns, ForgedForeignAndDoubledStandInsAreRefused) {
  const Sealed s, elsewhere;
  const AskedRound request = s.ask({1});
  const SignedHeader good = s.stand_in(0, request);
  StandIns list(s.round, *s.seal);
  const auto refused = [&](const char* part, const std::function<void(SignedHeader&)>& change,
                           const crypto::SiteKey& key) {
    SignedHeader header = good;
    change(header);
    header = sign(std::move(header), key);
    expect_error(ExitCode::kProtocol, {part}, [&] { list.take(request, header); });
  };
  const auto same = [](SignedHeader&) {};
  refused("none of the round's key holders", same, s.world.sites[0]);
  refused("itself said to be missing", same, s.world.holders[1]);
  refused(
      "answers another", [](auto& h) { h.answers[0] ^= 1; }, s.world.holders[0]);
  refused(
      "another round", [](auto& h) { h.round[0] ^= 1; }, s.world.holders[0]);
  refused(
      "a stand-in was needed", [](auto& h) { h.kind = MessageKind::kOpening; }, s.world.holders[0]);
  refused(
      "not said to be missing",
      [&](auto& h) { h.body["missing"][0]["holder"] = to_hex(s.world.holders[2].public_key()); },
      s.world.holders[0]);
  refused(
      "shares", [](auto& h) { h.body["missing"][0]["shares"].erase(0); }, s.world.holders[0]);
  refused(
      "missing", [](auto& h) { h.body["missing"].clear(); }, s.world.holders[0]);
  list.take(request, good);
  expect_error(ExitCode::kProtocol, {"twice"}, [&] { list.take(request, good); });
}

TEST(StandIns, ARequestIsTheCoordinatorsAndOfNoMoreThanMayBeMissing) {
  const Sealed s;
  expect_error(ExitCode::kProtocol, {"missing"}, [&] { (void)s.ask({0, 1}); });
  expect_error(ExitCode::kProtocol, {"missing"}, [&] { (void)s.ask({}); });
  SignedHeader header =
      parse_message(make_stand_in_request(s.round, *s.seal, s.world.coordinator, {1}), "r").header;
  const auto refused = [&](const char* part, const std::function<void(SignedHeader&)>& change,
                           const crypto::SiteKey& key) {
    SignedHeader h = header;
    change(h);
    h = sign(std::move(h), key);
    expect_error(ExitCode::kProtocol, {part}, [&] { (void)AskedRound(s.round, *s.seal, h); });
  };
  refused(
      "not the coordinator's", [](auto&) {}, s.world.holders[0]);
  refused(
      "none of the round's key holders",
      [&](auto& h) { h.body["missing"][0] = to_hex(s.world.sites[0].public_key()); }, s.world.coordinator);
  refused(
      "answers another", [](auto& h) { h.answers[0] ^= 1; }, s.world.coordinator);
  const Sealed two({3, 3, 2, 1, 8, 1, 2});
  const auto key = [&](std::size_t h) { return to_hex(two.world.holders[h].public_key()); };
  for (const auto& [one, other] : {std::pair{3, 3}, {3, 2}}) {
    SignedHeader h =
        parse_message(make_stand_in_request(two.round, *two.seal, two.world.coordinator, {3}), "r").header;
    h.body["missing"] = {key(static_cast<std::size_t>(one)), key(static_cast<std::size_t>(other))};
    h = sign(std::move(h), two.world.coordinator);
    expect_error(ExitCode::kProtocol, {"twice, or not in"},
                 [&] { (void)AskedRound(two.round, *two.seal, h); });
  }
  // Who has opened the seal says nothing to being called missing.
  expect_error(ExitCode::kProtocol, {"this key holder is missing"},
               [&] { (void)s.stand_in(1, AskedRound(s.round, *s.seal, header)); });
}

// A box is of one site, one key holder and one round: a copy, in the copier's own name, is an objection.
TEST(StandIns, ACopiedBoxOpensForNobody) {
  const World world(kParties);
  const ProposedRound round = world.round();
  const Message earlier = parse_message(world.contribution(round, 1), "an earlier contribution of its own");
  for (const bool own : {false, true}) {
    Sealed s;
    SignedHeader header = s.contributions[1].header;
    header.body["boxes"][2] =
        own ? earlier.header.body["boxes"][2] : s.contributions[0].header.body["boxes"][2];
    header = sign(std::move(header), s.world.sites[1], s.contributions[1].numbers);
    s.contributions[1] = {header, s.contributions[1].numbers};
    s.reseal();
    const KeyHolder::Opened opened = s.open(2);
    EXPECT_EQ(read_opening(parse_message(opened.message, "o").header, 4).objections,
              std::vector{s.world.sites[1].public_key()});
    EXPECT_EQ(opened.shares->share(2, 1, 0).bytes, crypto::KeyShare{}) << "nothing is in its place";
    EXPECT_NE(opened.shares->share(2, 0, 0).bytes, crypto::KeyShare{});
  }
}

// A coordinator that lies to each key holder about who is missing, in every way there is, with one key holder
// in league with it: it comes by the keys of no more honest holders than may be missing (theorem 3). What it
// has of all others is no key. Round after round: no key is of two rounds.
TEST(StandIns, FalseRequestsGiveNoMoreKeysAwayThanMayBeMissing) {
  constexpr std::size_t kHonest = 3, kCorrupt = 3, kNone = 4;
  std::set<crypto::PairCommitment> of_all_rounds;
  for (int again = 0; again < 2; ++again) {
    const Sealed s;
    std::vector<crypto::HeldShares> held;
    for (std::size_t h = 0; h < 4; ++h) held.push_back(std::move(*s.open(h).shares));
    const Contribution body = read_contribution(s.contributions[0].header, 4, true);
    for (const crypto::PairCommitment& c : body.commitments) EXPECT_TRUE(of_all_rounds.insert(c).second);
    int most = 0;
    for (std::size_t asked = 0; asked < 125; ++asked) {
      const std::size_t named[kHonest] = {asked % 5, asked / 5 % 5, asked / 25};
      std::vector<std::vector<crypto::StreamKey::Share>> known(4);
      for (std::size_t of = 0; of < 4; ++of) known[of].push_back(held[kCorrupt].share(kCorrupt, 0, of));
      for (std::size_t h = 0; h < kHonest; ++h) {
        if (named[h] == kNone) continue;
        const AskedRound request = s.ask({named[h]});
        if (named[h] == h) {
          EXPECT_THROW((void)make_stand_in(s.round, *s.seal, request, s.world.holders[h], held[h], {}),
                       ProtocolError);
          continue;
        }
        const auto bytes = make_stand_in(s.round, *s.seal, request, s.world.holders[h], held[h], {});
        const StandIn said = read_stand_in(parse_message(*bytes, "s").header, 1, 4);
        known[named[h]].push_back({h, said.missing[0].shares[0]});
      }
      int rebuilt = 0;
      for (std::size_t of = 0; of < kHonest; ++of) {
        const crypto::PairContext pair{s.round.id, s.world.sites[0].public_key(),
                                       s.world.holders[of].public_key(), body.point,
                                       s.round.proposal.holders[of].point};
        if (crypto::StreamKey::rebuild(known[of], pair).commitment() == body.commitments[of]) ++rebuilt;
      }
      EXPECT_LE(rebuilt, 1) << asked;
      most = std::max(most, rebuilt);
    }
    EXPECT_EQ(most, 1) << "the attack is one that can win";
  }
}

// As the above, for all numbers of key holders, by counting alone.
TEST(StandIns, TheTheoremsCountHoldsAndIsTight) {
  for (int f = 1; f <= 2; ++f) {
    for (int t_h = 0; t_h <= 3; ++t_h) {
      const auto worst = [&](int m) {
        const int honest = m - t_h;
        return f * honest / (m - f - t_h);  // pairs that honest holders give, over those that a key takes
      };
      for (int m = f * f + f + t_h + 1; m <= 12; ++m) EXPECT_LE(worst(m), f) << m << " " << f << " " << t_h;
      const int fewer = f * f + f + t_h;
      if (fewer - f - t_h >= 1) {
        EXPECT_GT(worst(fewer), f);
      }
    }
  }
}

/// Contributions of all, a seal, and openings of all but the last key holder.
void open_without_one(ConsortiumOfFolders& c) {
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, c.before());
}
std::uint64_t too_late(const ConsortiumOfFolders& c) { return c.round.proposal.open_until + 1; }
std::string released_without_one(ConsortiumOfFolders& c) {
  open_without_one(c);
  c.coordinator(too_late(c));
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, too_late(c));
  c.coordinator(too_late(c));
  return c.in_exchange(release_name(c.round.id));
}
std::string stand_in_of(const ConsortiumOfFolders& c, std::size_t h) {
  return stand_in_name(c.round.id, c.world.holders[h].public_key());
}

TEST(StandInSteps, AHolderIsGoneForGoodAndTheReleaseComesAllTheSame) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  for (std::size_t h = 0; h < 3; ++h) EXPECT_TRUE(fs::exists(c.shares_of(h)));
  EXPECT_EQ(c.erased, (std::set<std::size_t>{0, 1, 2})) << "the round keys are gone, the shares are kept";
  EXPECT_TELLS(c.coordinator(c.after()).waits, "openings of holder3, until");
  EXPECT_FALSE(c.is_in_exchange(stand_in_request_name(c.round.id))) << "it is not late yet";
  StepReport report = c.coordinator(too_late(c));
  EXPECT_TELLS(report.done, "asked the key holders who have opened to stand in for holder3");
  EXPECT_TELLS(report.waits, "of holder0, holder1, holder2, until");
  EXPECT_FALSE(report.lost);
  EXPECT_TELLS(c.holder(0, c.after()).waits, "may still open") << "by its own clock it is not late yet";
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_FALSE(c.coordinator(too_late(c)).waits.empty());
    EXPECT_TELLS(c.holder(h, too_late(c)).done, "stood in for holder3");
  }
  std::string status = status_text(read_status(*c.exchange, c.round, too_late(c)));
  for (const char* part : {"opened, and stood in", "is missing: the others are asked to stand in"})
    EXPECT_NE(status.find(part), std::string::npos) << status;
  EXPECT_EQ(status.find("kept aside"), std::string::npos) << status;
  EXPECT_TELLS(c.coordinator(too_late(c)).done, "released");
  const Artifact a = c.released();
  EXPECT_EQ(a.aggregation, privacy::AggregationMode(privacy::Apart{kParties, 4, 1}));
  EXPECT_EQ(a.round->holders[3].opening, "");
  EXPECT_EQ(a.round->holders[3].stand_ins.size(), 3u);
  EXPECT_EQ(without_noise({a.values, a.is_private}, c.round, {0, 1, 2, 3}, 3), expected(c.round, 4));
  const std::string text = privacy_statement_text(a);
  for (const char* part : {"1 of them was missing, and others stood in", "holder3 (missing: others stood in)",
                           "each of 3 key holders"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  // Who comes back finds that it is over; all others forget what they kept.
  const StepReport back = c.holder(3, too_late(c));
  EXPECT_TELLS(back.done, "opens nothing more");
  EXPECT_FALSE(back.lost) << "there is a release";
  EXPECT_EQ(c.erased.size(), 4u);
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_TELLS(c.holder(h, too_late(c)).done, "receipt");
    EXPECT_FALSE(fs::exists(c.shares_of(h)));
  }
  EXPECT_EQ(c.draws, 4 + 3);
  status = status_text(read_status(*c.exchange, c.round, too_late(c)));
  EXPECT_EQ(status.find("kept aside"), std::string::npos) << status;
}

TEST(StandInSteps, AStepThatIsTakenAgainChangesNothing) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  const auto twice = [&](const auto& step) {
    step();
    const auto before = c.everything();
    step();
    EXPECT_EQ(c.everything(), before);
  };
  for (std::size_t h = 0; h < 3; ++h) twice([&] { c.holder(h, c.before()); });
  twice([&] { c.coordinator(too_late(c)); });
  for (std::size_t h = 0; h < 3; ++h) twice([&] { c.holder(h, too_late(c)); });
  twice([&] { c.coordinator(too_late(c)); });
  for (std::size_t h = 0; h < 3; ++h) twice([&] { c.holder(h, too_late(c)); });
}

TEST(StandInSteps, ASecondRequestIsAnsweredByNothingNew) {
  ConsortiumOfFolders c(kParties);
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  c.holder(0, c.before());
  const SealedRound seal(c.round, parse_message(c.in_exchange(seal_name(c.round.id)), "s").header);
  // Two requests, in two folders that look alike.
  const auto ask = [&](const char* folder, std::size_t missing) {
    fs::create_directory(c.folder / folder);
    fs::copy(c.folder / "exchange", c.folder / folder, fs::copy_options::recursive);
    auto exchange = make_exchange((c.folder / folder).string());
    exchange->put(stand_in_request_name(c.round.id),
                  make_stand_in_request(c.round, seal, c.world.coordinator, {missing}));
    return exchange;
  };
  const auto one = ask("one", 2), other = ask("other", 3);
  EXPECT_TELLS(c.holder(0, too_late(c), *one).done, "stood in for holder2");
  const std::string said = read_file(c.folder / "one" / stand_in_of(c, 0));
  EXPECT_TRUE(c.holder(0, too_late(c), *other).done.empty());
  EXPECT_EQ(read_file(c.folder / "other" / stand_in_of(c, 0)), said) << "the same bytes, and no others";
  // Where the journal was lost it says nothing more, as with an opening.
  fs::remove(c.of(c.world.holders[0]) / "journal.mfj");
  expect_error(ExitCode::kProtocol, {"journal does not know it"}, [&] { c.holder(0, too_late(c), *one); });
}

TEST(StandInSteps, NobodyStandsInForWhoHasOpened) {
  ConsortiumOfFolders c(kParties);
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  for (std::size_t h = 0; h < 4; ++h) c.holder(h, c.before());
  const SealedRound seal(c.round, parse_message(c.in_exchange(seal_name(c.round.id)), "s").header);
  c.exchange->put(stand_in_request_name(c.round.id),
                  make_stand_in_request(c.round, seal, c.world.coordinator, {3}));
  EXPECT_TELLS(c.holder(0, too_late(c)).done, "have all opened: none is given");
  EXPECT_FALSE(c.is_in_exchange(stand_in_of(c, 0)));
  // Who is said to be missing and is not, tells.
  expect_error(ExitCode::kProtocol, {"this key holder is missing"}, [&] { c.holder(3, too_late(c)); });
  // Something else under its name is no opening.
  fs::remove(c.folder / "exchange" / c.opening_of(3));
  c.exchange->put(c.opening_of(3), c.in_exchange(c.opening_of(1)));
  EXPECT_TELLS(c.holder(0, too_late(c)).done, "stood in for holder3");
}

TEST(StandInSteps, AnOpeningThatComesLateIsTakenInPlaceOfStandIns) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  fs::create_directory(c.folder / "elsewhere");
  fs::copy(c.folder / "exchange", c.folder / "elsewhere", fs::copy_options::recursive);
  const auto elsewhere = make_exchange((c.folder / "elsewhere").string());
  c.holder(3, c.before(), *elsewhere);  // on a courier's way
  c.coordinator(too_late(c));
  c.holder(0, too_late(c));
  c.exchange->put(c.opening_of(3), read_file(c.folder / "elsewhere" / c.opening_of(3)));
  EXPECT_TELLS(c.holder(1, too_late(c)).done, "none is given");
  EXPECT_TELLS(c.coordinator(too_late(c)).done, "released");
  EXPECT_EQ(std::get<privacy::Apart>(c.released().aggregation).stood_in, 0);
}

TEST(StandInSteps, TooFewStandInsMakeNoReleaseAndSharesAreErasedUnasked) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  c.coordinator(too_late(c));
  c.holder(0, too_late(c));
  const std::uint64_t over = c.round.proposal.stand_in_until + 1;
  StepReport report = c.coordinator(over);
  EXPECT_TRUE(report.lost);
  EXPECT_TRUE(report.waits.empty());
  EXPECT_TELLS(report.done, "stand-ins for holder3 of holder1, holder2 were wanted until");
  c.holder(1, over);
  EXPECT_FALSE(fs::exists(c.shares_of(1)));
  EXPECT_FALSE(c.is_in_exchange(stand_in_of(c, 1)));
  // More are missing than may be: nobody is asked.
  ConsortiumOfFolders two(kParties);
  for (std::size_t i = 0; i < 4; ++i) two.site(i, two.before());
  two.coordinator(two.before());
  two.holder(0, two.before());
  two.holder(1, two.before());
  EXPECT_TRUE(two.coordinator(too_late(two)).lost);
  EXPECT_FALSE(two.is_in_exchange(stand_in_request_name(two.round.id)));
}

/// An abandoned round gets no answers, also from whom the abandonment is hidden later.
TEST(StandInSteps, NobodyStandsInInAnAbandonedRound) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  c.coordinator(too_late(c));
  c.holder(0, too_late(c));
  const std::string kept = read_file(c.shares_of(1));
  const CoordinatorJob job{c.world.coordinator, c.of(c.world.coordinator), c.clock(too_late(c)), "1.2.3"};
  EXPECT_TELLS(abandon_round(c.round, *c.exchange, job, AbandonCode::kMissing).done, "abandoned");
  const StepReport report = c.holder(1, too_late(c));
  EXPECT_TELLS(report.done, "has abandoned the round (missing), after this opening");
  EXPECT_TRUE(report.lost && report.waits.empty());
  EXPECT_TRUE(c.is_in_exchange(receipt_name(c.round.id, c.world.holders[1].public_key())));
  for (const std::size_t h : {0u, 1u}) {
    c.holder(h, too_late(c));
    EXPECT_FALSE(fs::exists(c.shares_of(h)));
  }
  const RoundStatus status = read_status(*c.exchange, c.round, too_late(c));
  EXPECT_EQ(status.stage.find("abandoned by the coordinator (missing)"), 0u) << status.stage;
  EXPECT_EQ(status.holders[3].state, "not asked any more");
  EXPECT_TRUE(status.set_aside.empty());
  EXPECT_TRUE(c.coordinator(too_late(c)).lost);
  // Hidden, and the shares put back: its journal knows.
  fs::remove(c.folder / "exchange" / abandonment_name(c.round.id));
  write_file_atomically(c.shares_of(1), kept);
  c.holder(1, too_late(c));
  EXPECT_FALSE(c.is_in_exchange(stand_in_of(c, 1)));
  // Who has heard nothing of it still answers.
  EXPECT_TELLS(c.holder(2, too_late(c)).done, "stood in for holder3");
}

/// Sites wait as long as a release may come, and no longer.
TEST(StandInSteps, TheRoundEndsWithTheLastDayForStandIns) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  const std::uint64_t over = c.round.proposal.stand_in_until + 1;
  EXPECT_TELLS(c.site(0, too_late(c)).waits, "the release; the round ends");
  EXPECT_TELLS(c.holder(0, too_late(c)).waits, "the release; the round ends");
  for (const StepReport& report : {c.site(0, over), c.holder(0, over)})
    EXPECT_TRUE(report.lost && report.waits.empty());
}

/// Whose shares are gone stands in for nobody, and says so.
TEST(StandInSteps, AHolderWithoutItsSharesSaysSo) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  c.coordinator(too_late(c));
  fs::remove(c.shares_of(0));
  EXPECT_TELLS(c.holder(0, too_late(c)).done, "shares are gone");
  EXPECT_FALSE(c.is_in_exchange(stand_in_of(c, 0)));
}

/// Whoever carries messages knows these by their names.
TEST(StandInSteps, MessagesAreCarriedByName) {
  ConsortiumOfFolders c(kParties);
  open_without_one(c);
  c.coordinator(too_late(c));
  c.holder(0, too_late(c));
  const auto known = messages_of(c.round);
  for (const auto& [name, bytes] : c.everything()) {
    EXPECT_TRUE(is_name_of_ours(name)) << name;
    EXPECT_TRUE(is_called(name, parse_message(bytes, name).header)) << name;
    EXPECT_TRUE(is_proposal_name(name) || known.contains(name)) << name;
  }
  EXPECT_FALSE(messages_of(World().round()).contains(stand_in_request_name(World().round().id)));
}

TEST(StandInSteps, TheReleaseIsAddedUpAgainWithItsStandIns) {
  ConsortiumOfFolders c(kParties);
  const std::string bytes = released_without_one(c);
  const auto verified = [&](const std::string& release) {
    Evidence evidence;
    evidence.name = "release.mfl";
    evidence.release = release;
    evidence.messages = evidence_in((c.folder / "exchange").string());
    evidence.trusted = crypto::SignerKey{c.world.coordinator.name(), c.world.coordinator.public_key()};
    return verify_release(evidence);
  };
  const Verification good = verified(bytes);
  EXPECT_TRUE(good.vouched());
  EXPECT_EQ(good.code(), ExitCode::kBudget) << "seeded noise";
  bool told = false;
  for (const Check& check : good.checks)
    told = told || check.detail.find("of 1 key holders who were missing") != std::string::npos;
  EXPECT_TRUE(told);
  const auto refused = [&](const std::string& release, const char* part) {
    const Verification v = verified(release);
    EXPECT_EQ(v.code(), ExitCode::kProtocol);
    std::string said;
    for (const Check& check : v.checks) {
      if (check.outcome == Check::Outcome::kFail) said += check.name + ": " + check.detail + "\n";
    }
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  Artifact a = parse_artifact(bytes, "release");
  ++a.values[5];
  refused(artifact_bytes(a), "not what contributions and openings add up to");
  a = parse_artifact(bytes, "release");
  std::swap(a.round->holders[3].stand_ins[0], a.round->holders[3].stand_ins[1]);
  refused(artifact_bytes(a), "other messages, keys");
  for (const std::string& name : {stand_in_of(c, 1), stand_in_request_name(c.round.id)}) {
    const fs::path file = c.folder / "exchange" / name;
    const std::string kept = read_file(file);
    fs::remove(file);
    refused(bytes, "round: sum");
    std::string bad = kept;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
    write_file_atomically(file, bad);
    refused(bytes, "round: sum");
    write_file_atomically(file, kept);
  }
  EXPECT_EQ(verified(bytes).code(), ExitCode::kBudget) << "all is as it was";
}

// What a header may not say.
TEST(StandInSteps, ReleasesThatContradictThemselvesAreNone) {
  ConsortiumOfFolders c(kParties);
  const std::string bytes = released_without_one(c);
  const auto refused = [&](const std::function<void(nlohmann::json&)>& change) {
    Container container = parse_container(bytes, "muffle-release", kArtifactVersion, "r");
    change(container.header);
    expect_error(ExitCode::kProtocol, {}, [&] { (void)parse_artifact(serialize(container), "r"); });
  };
  refused([](auto& h) { h["aggregation"]["stood_in"] = 0; });
  refused([](auto& h) { h["aggregation"]["stood_in"] = 2; });
  refused([](auto& h) { h["aggregation"].erase("stood_in"); });
  refused([](auto& h) { h["round"]["holders"][3].erase("stand_ins"); });
  refused([](auto& h) { h["round"]["holders"][3]["stand_ins"] = nlohmann::json::array(); });
  refused([](auto& h) { h["round"]["holders"][3]["opening"] = std::string(64, 'a'); });
}

TEST(StandInMessages, ProposalsAndContributionsSayWhatTheRoundIsFor) {
  const World shared(kParties), whole;
  const auto refused = [](const World& world, const std::function<void(nlohmann::json&)>& change,
                          ExitCode code) {
    SignedHeader header = parse_message(world.proposed, "p").header;
    change(header.body);
    const std::string bytes = message_bytes(sign(std::move(header), world.coordinator));
    expect_error(code, {}, [&] { ProposedRound(parse_message(bytes, "p"), "p"); });
  };
  EXPECT_TRUE(shared.round().shares_keys());
  refused(
      shared, [](auto& body) { body.erase("stand_in_until"); }, ExitCode::kProtocol);
  refused(
      shared, [](auto& body) { body["stand_in_until"] = 1u; }, ExitCode::kProtocol);
  refused(
      shared, [](auto& body) { body["colluding_holders"] = 2u; },
      ExitCode::kConfig);  // m < f^2 + f + t_h + 1
  refused(
      whole, [](auto& body) { body["stand_in_until"] = 1'900'000'000u; }, ExitCode::kProtocol);
  const ProposedRound round = shared.round();
  const SignedHeader good = parse_message(shared.contribution(round, 0), "c").header;
  const auto bad = [&](const std::function<void(nlohmann::json&)>& change) {
    SignedHeader header = good;
    change(header.body);
    expect_error(ExitCode::kProtocol, {"boxes"}, [&] { (void)check_contribution(round, header); });
  };
  bad([](auto& body) { body.erase("boxes"); });
  bad([](auto& body) { body["boxes"].erase(0); });
  bad([](auto& body) { body["boxes"][0] = "ab"; });
  const SignedHeader bare_one = parse_message(whole.contribution(whole.round(), 0), "c").header;
  EXPECT_FALSE(bare_one.body.contains("boxes")) << "nothing is shared that nobody needs";
}

}  // namespace stand_ins_test
}  // namespace muffle::round
