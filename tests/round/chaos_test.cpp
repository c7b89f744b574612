// Whole rounds between institutions under random faults: each act is a process, killed at any call to the
// system or by a power cut; each party has its own copy of the exchange, and the link to the others' is cut,
// loses, doubles, and hides what came first; and disks are put back to what a backup held. In every other
// round one of four key holders may be missing, and mostly one is gone for good. Whatever happens:
// one draw a charge, one contribution a site, one opening a round key, one seal, no contribution that its
// ledger does not count, no act that hangs, nobody who waits beyond the last day; and a release whenever the
// theorem says so.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/round/sync.hpp"
#include "round/consortium.hpp"
#include "support/tier.hpp"

namespace muffle::round {
namespace {

namespace fs = std::filesystem;

#ifdef MUFFLE_SANITIZED
const int kRounds = 2;
#else
const int kRounds = test::thorough() ? 200 : 3;
#endif
/// In a few rounds, some that are known to be released: by stand-ins, and without.
const int kFirst = kRounds < 200 ? 7 : 0;
constexpr int kMoreUntilReleased = 10;  ///< where a build's calls to the system are others
constexpr int kActs = 40, kPatience_s = 30;

/// A network that is not as it should be.
class Link final : public Exchange {
 public:
  enum class Fault { kNone, kCut, kLoses, kDoubles, kHides };
  Link(Exchange& inner, Fault fault, std::mt19937_64& random)
      : inner_(inner), fault_(fault), random_(random), left_(random() % 8) {}
  void put(const std::string& name, std::string_view bytes) override {
    step();
    if (fault_ == Fault::kLoses && random_() % 2 == 0) return;  // as if it had arrived
    inner_.put(name, bytes);
    if (fault_ == Fault::kDoubles) inner_.put(name, bytes);
  }
  std::vector<std::string> list() override {
    std::vector<std::string> names = inner_.list();
    if (fault_ == Fault::kHides) std::erase_if(names, [&](const auto&) { return random_() % 2 == 0; });
    return names;
  }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    step();
    return inner_.get(name, most);
  }

 private:
  void step() {
    if (fault_ == Fault::kCut && left_-- == 0) throw CommError("the link was cut.");
  }
  Exchange& inner_;
  const Fault fault_;
  std::mt19937_64& random_;
  std::uint64_t left_;
};

/// One round, from its proposal to its end.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : c_(seed % 2 == 0 ? privacy::RoundParties{4, 4, 3, 1, 3, 1, 0}
                         : privacy::RoundParties{4, 4, 3, 1, 4, 1, 1}),
        random_(seed) {
    for (std::size_t i = 0; i < c_.world.sites.size(); ++i) add("site", c_.world.sites[i]);
    for (std::size_t h = 0; h < c_.world.holders.size(); ++h) {
      add("holder", c_.world.holders[h]);
      c_.world.round_key(h).save(parties_.back().world / "round.key");
    }
    add("coordinator", c_.world.coordinator);
    parties_.back().exchange->put(release::proposal_name(c_.round.id), c_.world.proposed);
    fs::remove(c_.folder / "exchange" / release::proposal_name(c_.round.id));
    const std::size_t place = c_.world.sites.size() + random_() % c_.world.holders.size();
    if (c_.round.shares_keys() && random_() % 4 != 0) leaver_ = &parties_[place];
  }

  void run() {
    const auto leaves = static_cast<int>(random_() % kActs);
    for (int act = 0; act < kActs; ++act) {
      if (act == leaves && leaver_ != nullptr) gone_ = leaver_;
      Party& p = parties_[random_() % parties_.size()];
      if (&p == gone_) continue;
      if (random_() % 30 == 0) restore(p);
      carry(p, fault_on_the_way_to(p));
      // The deadline comes when two thirds of the acts are done.
      step(p, act * 3 < kActs * 2 ? c_.before() : c_.after(), random_() % 2 == 0);
      carry(p, static_cast<Link::Fault>(random_() % 5));
      if (testing::Test::HasFatalFailure()) return;
      if (random_() % 8 == 0) backup(p);
    }
    calm_down(c_.after());
    if (c_.round.shares_keys()) calm_down(c_.round.proposal.open_until + 1);
    if (testing::Test::HasFatalFailure()) return;
    judge();
    for (Party& p : parties_) {
      if (&p == gone_) continue;
      step(p, c_.round.proposal.last_day() + 1, false);
      EXPECT_EQ(said(p).find("waits for"), std::string::npos) << p.world << said(p);
      EXPECT_FALSE(fs::exists(p.world / "shares")) << p.world;
    }
  }

  struct Counts {
    int faults = 0, killed = 0, restored = 0, gone = 0, released = 0, stood_in = 0, spent = 0, ended = 0,
        enough = 0;
  };
  static Counts total;

 private:
  struct Party {
    std::string role;
    const crypto::SiteKey& key;
    fs::path world;
    std::unique_ptr<Exchange> exchange;
    bool restored = false;
  };

  /// A party whose disk was put back sees what it said before, or it could say something else: nothing but
  /// the exchange knows (docs/how-to/sites.md has it keep its journal out of backups). So its link loses and
  /// doubles what it sends, and hides nothing of what lies there, as a cut would.
  Link::Fault fault_on_the_way_to(const Party& p) {
    if (!p.restored) return static_cast<Link::Fault>(random_() % 5);
    constexpr Link::Fault kHideNothing[] = {Link::Fault::kNone, Link::Fault::kLoses, Link::Fault::kDoubles};
    return kHideNothing[random_() % 3];
  }

  void add(const std::string& role, const crypto::SiteKey& key) {
    const fs::path world = c_.folder / ("world-" + key.name());
    for (const char* part : {"party", "draws", "exchange", "backup"}) fs::create_directories(world / part);
    key.save(world / "party.key");
    parties_.push_back({role, key, world, make_exchange((world / "exchange").string())});
  }

  /// Nothing goes wrong any more, and everybody has turns enough.
  void calm_down(std::uint64_t now) {
    for (int turn = 0; turn < 4; ++turn) {
      for (Party& p : parties_) {
        if (&p == gone_) continue;
        carry(p, Link::Fault::kNone);
        step(p, now, false);
        carry(p, Link::Fault::kNone);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// A sync, cut off anywhere; what everybody can see then is looked at.
  void carry(Party& p, Link::Fault fault) {
    total.faults += fault != Link::Fault::kNone;
    Link link(*c_.exchange, fault, random_);
    const fs::path outbox_folder = outbox(p.world / "party");
    std::vector<std::string> own;
    if (fs::exists(outbox_folder)) own = make_exchange(outbox_folder.string())->list();
    try {
      const Synced synced =
          synchronise(*p.exchange, link, own, {.coordinator = c_.world.coordinator.public_key()});
      EXPECT_TRUE(synced.conflicts.empty() || p.restored) << in_words(synced);
    } catch (const CommError&) {
      EXPECT_EQ(fault, Link::Fault::kCut);
    }
    for (Exchange* place : {c_.exchange.get(), p.exchange.get()}) {
      for (const std::string& name : place->list()) {
        const auto bytes = place->get(name, std::uint64_t{1} << 30);
        ASSERT_TRUE(seen_.emplace(name, *bytes).first->second == *bytes) << "two different ones of " << name;
      }
    }
  }

  void step(Party& p, std::uint64_t now, bool faulty) {
    if (p.role == "coordinator" && now > c_.round.proposal.contribute_until && !in_time_)
      in_time_ = contributions_in(*p.exchange);
    std::string kill;
    if (faulty) {
      constexpr const char* kActions[] = {"kill-before", "kill-after", "short-kill", "full", "power-cut"};
      kill = std::to_string(1 + random_() % 30) + ":" + kActions[random_() % 5] + ":" +
             std::to_string(random_() % 100'000);
      ++total.faults;
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int fd = ::open((p.world / "said").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
      ::dup2(fd, 1);
      ::dup2(fd, 2);
      const std::string marks =
          (p.world / "draws").string() + ":" + (p.world / "party" / "ledger.mfl").string();
      if (p.role == "site") ::setenv("MUFFLE_MARK_DRAWS", marks.c_str(), 1);
      if (faulty) ::setenv("MUFFLE_KILL_POINT", kill.c_str(), 1);
      ::alarm(kPatience_s);  // of the act: whoever hangs ends by SIGALRM
      ::execl(MUFFLE_STEP_DRIVER, MUFFLE_STEP_DRIVER, p.role.c_str(), p.world.c_str(),
              std::to_string(now).c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const int ended = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    total.killed += ended == -SIGKILL;
    const bool known = fs::exists(p.world / "exchange" / release::proposal_name(c_.round.id));
    const bool expected = ended == 0 || (!known && ended == static_cast<int>(ExitCode::kConfig)) ||
                          (faulty && (ended == -SIGKILL || ended == static_cast<int>(ExitCode::kIo))) ||
                          (p.restored && (ended == static_cast<int>(ExitCode::kProtocol) ||
                                          ended == static_cast<int>(ExitCode::kConfig)));
    ASSERT_TRUE(expected) << p.world << " ended with " << ended << (faulty ? ", " + kill : "") << "\n"
                          << said(p);
    one_draw_a_charge(p);
  }

  int contributions_in(Exchange& place) const {
    int count = 0;
    for (const std::string& name : place.list()) {
      for (std::size_t i = 0; i < c_.world.sites.size(); ++i) count += name == c_.contribution_of(i);
    }
    return count;
  }

  std::string said(const Party& p) const { return read_file(p.world / "said"); }

  /// A backup holds a party's books and what it sent; no keys.
  void backup(Party& p) {
    fs::remove_all(p.world / "backup");
    fs::copy(p.world / "party", p.world / "backup", fs::copy_options::recursive);
  }
  void restore(Party& p) {
    if (p.role == "coordinator") return;  // its journal is what makes it honest
    fs::remove_all(p.world / "party");
    fs::copy(p.world / "backup", p.world / "party", fs::copy_options::recursive);
    fs::remove(p.world / "round.key");
    fs::remove(p.world / "shares");
    p.restored = true;
    ++total.faults;
    ++total.restored;
  }

  void one_draw_a_charge(const Party& p) const {
    std::multiset<std::string> drawn;
    for (const auto& entry : fs::directory_iterator(p.world / "draws")) {
      const std::string name = entry.path().filename().string();
      drawn.insert(name.substr(0, name.find('.')));
    }
    for (const std::string& id : drawn) ASSERT_EQ(drawn.count(id), 1u) << p.world << ": charge " << id;
    if (drawn.empty() || p.restored) return;
    const privacy::LedgerState ledger = privacy::read_ledger(p.world / "party" / "ledger.mfl");
    ASSERT_LE(ledger.charges.size(), 1u);
    for (const std::string& id : drawn) ASSERT_NE(ledger.find_charge(id), nullptr) << "an under-count";
  }

  /// What the theorem says of this round, against what came of it.
  void judge() const {
    int contributed = 0;
    for (std::size_t i = 0; i < c_.world.sites.size(); ++i) {
      const auto found = seen_.find(c_.contribution_of(i));
      if (found == seen_.end()) {
        total.spent += fs::exists(parties_[i].world / "party" / "ledger.mfl");
        continue;
      }
      ++contributed;
      if (parties_[i].restored) continue;
      const auto ledger = privacy::read_ledger(parties_[i].world / "party" / "ledger.mfl");
      ASSERT_EQ(ledger.charges.size(), 1u) << "a contribution that nobody was charged for";
      ASSERT_EQ(ledger.charges[0].pending, to_hex(sha256(PublicBytes(found->second))));
    }
    bool opened = true;
    for (std::size_t h = 0; h < c_.world.holders.size(); ++h)
      opened = opened && seen_.contains(c_.opening_of(h));
    const auto away = std::ranges::count_if(
        parties_, [&](const Party& p) { return p.role == "holder" && (p.restored || &p == gone_); });
    const bool enough_there = away <= c_.round.proposal.parties.missing_holders;
    const bool sealed = seen_.contains(release::seal_name(c_.round.id));
    const bool released = c_.is_in_exchange(release::release_name(c_.round.id));
    // What came after the seal or the abandonment does not count; what came before it does.
    ASSERT_TRUE(in_time_.has_value());
    const bool enough_came = *in_time_ >= c_.round.proposal.parties.least;
    total.enough += enough_came;
    if (enough_came) {
      EXPECT_TRUE(sealed) << *in_time_ << " contributions lay before the coordinator at the deadline";
    }
    if ((enough_came || sealed) && (opened || enough_there)) {
      EXPECT_TRUE(released) << "the theorem promises a release";
    }
    if (contributed < c_.round.proposal.parties.least) {
      EXPECT_FALSE(sealed || released);
    }
    EXPECT_TRUE(sealed || seen_.contains(release::abandonment_name(c_.round.id)))
        << "after the deadline the coordinator seals, or says that it does not";
    total.released += released;
    total.stood_in += released && !opened;
    total.gone += gone_ != nullptr;
    total.ended += !released;
    if (!released) return;
    release::Evidence evidence;
    evidence.name = "release.mfl";
    const std::string bytes = c_.in_exchange(release::release_name(c_.round.id));
    evidence.release = bytes;
    evidence.messages = release::evidence_in((c_.folder / "exchange").string());
    evidence.trusted = crypto::SignerKey{"coordinator", c_.world.coordinator.public_key()};
    const release::Verification verified = release::verify_release(evidence);
    for (const release::Check& check : verified.checks)
      EXPECT_NE(check.outcome, release::Check::Outcome::kFail) << check.name << ": " << check.detail;
  }

  ConsortiumOfFolders c_;
  std::mt19937_64 random_;
  std::vector<Party> parties_;
  const Party *leaver_ = nullptr, *gone_ = nullptr;
  /// Contributions that lay before the coordinator when it first looked after the deadline.
  std::optional<int> in_time_;
  std::map<std::string, std::string> seen_;  ///< by name: what anybody ever saw there
};
Chaos::Counts Chaos::total;

TEST(Chaos, WholeRoundsUnderRandomFaults) {
  int rounds = 0;
  for (; rounds < kRounds || (Chaos::total.released == 0 && rounds < kRounds + kMoreUntilReleased);
       ++rounds) {
    const int i = kFirst + rounds;
    SCOPED_TRACE("seed " + std::to_string(i));
    Chaos round(static_cast<std::uint64_t>(i));
    const Chaos::Counts before = Chaos::total;
    round.run();
    std::cout << "seed " << i << ": "
              << (Chaos::total.stood_in > before.stood_in   ? "released by stand-ins"
                  : Chaos::total.released > before.released ? "released"
                                                            : "ended")
              << std::endl;
    if (HasFatalFailure()) return;
  }
  const Chaos::Counts& n = Chaos::total;
  std::cout << rounds << " rounds, " << n.faults << " faults (" << n.killed << " killed, " << n.restored
            << " restored), " << n.gone << " key holders gone for good; " << n.released << " released ("
            << n.stood_in << " by stand-ins), enough came in time in " << n.enough << ", " << n.ended
            << " ended without a release, " << n.spent << " sites charged without a contribution\n";
  EXPECT_GT(n.killed, rounds);
  EXPECT_GT(n.released, 0) << "else nothing is shown";
  EXPECT_GT(n.enough, 0) << "likewise of the seal";
  if (kRounds >= 200) {
    EXPECT_GT(n.stood_in, 0);
  }
}

}  // namespace
}  // namespace muffle::round
