// Rounds whose parties share no folder: a server on loopback shows the coordinator's, each party works in one
// of its own and carries messages itself. Several rounds, stand-ins and all parts of the key holders.
#include <algorithm>
#include <functional>

#include "muffle/http/server.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/round/status.hpp"
#include "muffle/round/sync.hpp"
#include "round/several_rounds.hpp"
#include "support/expect_error.hpp"
#include "support/https.hpp"

namespace muffle::round {
namespace over_https_test {

using namespace release;
using test::expect_error;
namespace fs = std::filesystem;

std::string lines_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}
#define EXPECT_TELLS(lines, part) EXPECT_NE(lines_of(lines).find(part), std::string::npos) << lines_of(lines)

/// The server of a consortium's folder, which lets in those whom the folder's messages name and nobody else;
/// and what carries a party's messages there and back.
class Network {
 public:
  explicit Network(const ConsortiumOfFolders& c)
      : c_(c), authority_(c.folder / "certificates"), server_(settings(), http::known_senders(served())) {
    client_.ca = authority_.ca();
    client_.first_wait_s = 0.01;
  }
  /// Where a party works: its own copy of what is there.
  fs::path own(const crypto::SiteKey& party) const {
    return working_exchange(c_.of(party), server_.address());
  }
  Synced sync(const crypto::SiteKey& party) const {
    const auto local = make_exchange(own(party).string());
    const auto remote = make_exchange(server_.address(), client_);
    std::vector<std::string> sent;
    if (const auto outbox = c_.of(party) / "outbox"; fs::exists(outbox))
      sent = make_exchange(outbox.string())->list();
    Synced synced =
        synchronise(*local, *remote, sent,
                    {.coordinator = c_.world.coordinator.public_key(), .reader = party.public_key()});
    EXPECT_TRUE(synced.refused.empty() && synced.conflicts.empty() && synced.unfinished.empty())
        << party.name() << "\n"
        << in_words(synced);
    return synced;
  }
  /// A party's act where there is no network, between two calls of sync.
  StepReport act(const crypto::SiteKey& party, const std::function<StepReport(Exchange&)>& step) const {
    sync(party);
    const auto local = make_exchange(own(party).string());
    StepReport report = step(*local);
    sync(party);
    return report;
  }

 private:
  fs::path served() const { return c_.folder / "exchange"; }
  http::ServerSettings settings() const {
    const test::TestAuthority::Pair pair = authority_.certify("server", "IP:127.0.0.1");
    http::ServerSettings out;
    out.folder = served();
    out.listen = "127.0.0.1:0";
    out.cert = pair.cert;
    out.key = pair.key;
    return out;
  }

  const ConsortiumOfFolders& c_;
  test::TestAuthority authority_;
  test::RunningServer server_;
  http::ClientSettings client_;
};

/// The whole of a release in one round, or of what was made of it so far.
struct OneRound {
  explicit OneRound(privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0}) : c(parties), network(c) {}

  StepReport site(std::size_t i) {
    return network.act(c.world.sites[i], [&](Exchange& e) { return c.site(i, c.before(), e); });
  }
  StepReport holder(std::size_t h, std::uint64_t now) {
    return network.act(c.world.holders[h], [&](Exchange& e) { return c.holder(h, now, e); });
  }
  /// Contributions of all, and a seal.
  void seal() {
    for (std::size_t i = 0; i < c.world.sites.size(); ++i) site(i);
    EXPECT_TELLS(c.coordinator(c.before()).done, "sealed");
  }
  std::uint64_t too_late() const { return c.round.proposal.open_until + 1; }
  std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> out(c.round.length, 0);
    for (std::size_t i = 0; i < c.world.sites.size(); ++i) test::add_to(out, World::sums_of(c.round, i));
    return out;
  }
  bool has(const crypto::SiteKey& party, const std::string& name) const {
    return fs::exists(network.own(party) / name);
  }

  ConsortiumOfFolders c;
  Network network;
};

/// Checks of a release by its messages that are not good; the tests' noise has a seed.
std::vector<std::string> failed(const ConsortiumOfFolders& c, const std::string& name,
                                const std::string& bytes) {
  Evidence evidence;
  evidence.name = name;
  evidence.release = bytes;
  evidence.messages = [&](const std::string& message, std::uint64_t most) {
    return c.exchange->get(message, most);
  };
  evidence.trusted = crypto::SignerKey{c.world.coordinator.name(), c.world.coordinator.public_key()};
  std::vector<std::string> out;
  for (const Check& check : verify_release(evidence).checks) {
    if (check.outcome == Check::Outcome::kFail && check.name != "secure noise") out.push_back(check.name);
  }
  return out;
}

TEST(OverHttps, ThreeRoundsAreTheSameReleaseAsOverAFolder) {
  SeveralRounds near, far;
  const Network network(far.c);
  for (std::size_t r = 0; r < 3; ++r) {
    if (r > 0) near.propose();
    near.run(r);
    if (r > 0) far.propose();
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TELLS(
          network.act(far.c.world.sites[i], [&](Exchange& e) { return far.site(far.rounds[r], i, e); }).done,
          "contributed");
    far.coordinator(r);
    for (std::size_t h = 0; h < 3; ++h)
      EXPECT_TELLS(network.act(far.c.world.holders[h], [&](Exchange& e) { return far.holder(r, h, e); }).done,
                   "opened the sum of 4");
    far.coordinator(r);
  }
  EXPECT_EQ(far.c.draws, 3 * (4 + 3));
  const auto release = [](const SeveralRounds& s) {
    const std::string name = release_name(s.rounds[2].id);
    return parse_artifact(s.c.in_exchange(name), name);
  };
  EXPECT_EQ(release(far).values, release(near).values) << "sums and seeded noise are the same";
  EXPECT_EQ(release(far).rounds_before.size(), 2u);
  const std::string name = release_name(far.rounds[2].id);
  EXPECT_EQ(failed(far.c, name, far.c.in_exchange(name)), std::vector<std::string>());
  // It comes to everybody, and is noted in each site's ledger; one charge each.
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TELLS(
        network.act(far.c.world.sites[i], [&](Exchange& e) { return far.site(far.rounds[2], i, e); }).done,
        "the round is released");
    EXPECT_EQ(read_file(network.own(far.c.world.sites[i]) / name), far.c.in_exchange(name));
    EXPECT_EQ(privacy::read_ledger(far.c.ledger(i)).charges.size(), 1u);
  }
  for (std::size_t h = 0; h < 3; ++h)
    EXPECT_TELLS(network.act(far.c.world.holders[h], [&](Exchange& e) { return far.holder(2, h, e); }).done,
                 "receipt");
  EXPECT_TRUE(far.c.is_in_exchange(receipt_name(far.rounds[2].id, far.c.world.holders[1].public_key())));
}

TEST(OverHttps, ALaterRoundWaitsForWhatItGoesOnFrom) {
  SeveralRounds s;
  s.run(0);
  s.propose();
  const Network network(s.c);
  // A server that keeps the first round's sum back: nothing is drawn, and the step says what it waits for.
  const std::string sum = sum_name(s.rounds[0].id);
  const std::string bytes = s.c.in_exchange(sum);
  fs::remove(s.c.folder / "exchange" / sum);
  const int draws = s.c.draws;
  const auto step = [&] {
    return network.act(s.c.world.sites[2], [&](Exchange& e) { return s.site(s.rounds[1], 2, e); });
  };
  EXPECT_TELLS(step().waits, sum);
  EXPECT_EQ(s.c.draws, draws);
  s.c.exchange->put(sum, bytes);
  EXPECT_TELLS(step().done, "contributed");
  EXPECT_EQ(s.c.draws, draws + 1);
}

TEST(OverHttps, OthersStandInForAKeyHolderWhoIsGone) {
  OneRound r({4, 4, 3, 1, 4, 1, 1});
  r.seal();
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.before());
  EXPECT_TELLS(r.c.coordinator(r.too_late()).done,
               "asked the key holders who have opened to stand in for holder3");
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_TELLS(r.holder(h, r.too_late()).done, "stood in for holder3");
    EXPECT_TRUE(r.c.is_in_exchange(stand_in_name(r.c.round.id, r.c.world.holders[h].public_key())));
  }
  EXPECT_TELLS(r.c.coordinator(r.too_late()).done, "released");
  const Artifact a = r.c.released();
  EXPECT_EQ(std::get<privacy::Apart>(a.aggregation).stood_in, 1);
  EXPECT_EQ(without_noise({a.values, a.is_private}, r.c.round, {0, 1, 2, 3}, 3), r.expected());
  const std::string name = release_name(r.c.round.id);
  EXPECT_EQ(failed(r.c, name, r.c.in_exchange(name)), std::vector<std::string>());
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_TELLS(r.holder(h, r.too_late()).done, "receipt");
    EXPECT_FALSE(fs::exists(r.c.shares_of(h))) << "what it kept for the others is erased";
  }
  EXPECT_TELLS(r.holder(3, r.too_late()).done, "opens nothing more");
}

TEST(OverHttps, AnOpeningThatComesLateIsTakenInPlaceOfStandIns) {
  OneRound r({4, 4, 3, 1, 4, 1, 1});
  r.seal();
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.before());
  // The last one has opened in time, and its network is down.
  const crypto::SiteKey& late = r.c.world.holders[3];
  r.network.sync(late);
  r.c.holder(3, r.c.before(), *make_exchange(r.network.own(late).string()));
  r.c.coordinator(r.too_late());
  EXPECT_TELLS(r.holder(0, r.too_late()).done, "stood in for holder3");
  r.network.sync(late);
  EXPECT_TELLS(r.holder(1, r.too_late()).done, "none is given") << "its opening has come there, too";
  EXPECT_TELLS(r.c.coordinator(r.too_late()).done, "released");
  EXPECT_EQ(std::get<privacy::Apart>(r.c.released().aggregation).stood_in, 0);
}

TEST(OverHttps, ASealThatLeavesASiteOutIsOpenedOnceItsDeclineIsThere) {
  OneRound r;
  const crypto::SiteKey& no = r.c.world.sites[3];
  r.network.act(no, [&](Exchange& e) {
    e.put(decline_name(r.c.round.id, no.public_key()),
          message_bytes(sign(decline_of(r.c.round, DeclineCode::kPerson), no)));
    return StepReport();
  });
  for (std::size_t i = 0; i < 3; ++i) r.site(i);
  EXPECT_TELLS(r.c.coordinator(r.c.before()).done, "without site3");
  // One key holder's server keeps the decline back: to it the seal looks like a site left out.
  const std::string decline = decline_name(r.c.round.id, no.public_key());
  const std::string bytes = r.c.in_exchange(decline);
  fs::remove(r.c.folder / "exchange" / decline);
  EXPECT_TELLS(r.holder(0, r.c.before()).waits, "site3, whom the seal leaves out");
  r.c.exchange->put(decline, bytes);
  for (std::size_t h = 0; h < 3; ++h) EXPECT_TELLS(r.holder(h, r.c.before()).done, "opened the sum of 3");
  EXPECT_TELLS(r.c.coordinator(r.c.before()).done, "released");
}

TEST(OverHttps, AnAbandonedRoundIsToldToAll) {
  OneRound r;
  r.seal();
  r.holder(0, r.c.before());
  abandon_round(r.c.round, *r.c.exchange,
                {r.c.world.coordinator, r.c.of(r.c.world.coordinator), r.c.clock(r.c.before()), "1.2.3"},
                AbandonCode::kPerson);
  for (std::size_t h = 0; h < 3; ++h) {
    const StepReport report = r.holder(h, r.c.before());
    EXPECT_TELLS(report.done, "abandoned the round");
    EXPECT_TRUE(report.lost);
    EXPECT_EQ(r.c.is_in_exchange(r.c.opening_of(h)), h == 0) << "nothing more is opened";
    EXPECT_TRUE(r.c.is_in_exchange(receipt_name(r.c.round.id, r.c.world.holders[h].public_key())));
  }
  EXPECT_EQ(r.c.erased.size(), 3u);
  EXPECT_TRUE(r.site(1).lost);
}

// Whom a server shows another seal than everybody else opens nothing that anybody can use, and opens it once.
TEST(OverHttps, ATwoFacedServerGetsOneOpeningOfAKeyHolder) {
  OneRound r;
  for (std::size_t i = 0; i < 4; ++i) r.site(i);
  std::vector<SignedHeader> three;
  for (std::size_t i = 0; i < 3; ++i)
    three.push_back(parse_message(r.c.in_exchange(r.c.contribution_of(i)), "c").header);
  const std::string seal = seal_name(r.c.round.id);
  const crypto::SiteKey& shown = r.c.world.holders[0];
  const fs::path served = r.c.folder / "exchange" / seal;
  r.c.exchange->put(seal, make_seal(r.c.round, r.c.world.coordinator, std::move(three)));
  EXPECT_TELLS(r.holder(0, r.c.after()).done, "opened the sum of 3");
  const std::string opened = r.c.in_exchange(r.c.opening_of(0));
  fs::remove(served);
  fs::remove(r.network.own(shown) / seal);  // as if the server had never shown the first
  r.c.coordinator(r.c.after());
  expect_error(ExitCode::kProtocol, {"There are two seals for round key"}, [&] { r.holder(0, r.c.after()); });
  EXPECT_EQ(r.c.in_exchange(r.c.opening_of(0)), opened);
  for (std::size_t h = 1; h < 3; ++h) r.holder(h, r.c.after());
  EXPECT_FALSE(r.c.is_in_exchange(release_name(r.c.round.id)));
  EXPECT_TELLS(r.c.coordinator(r.c.after()).aside, "opening");
  EXPECT_FALSE(r.c.is_in_exchange(release_name(r.c.round.id)));
}

}  // namespace over_https_test
}  // namespace muffle::round
