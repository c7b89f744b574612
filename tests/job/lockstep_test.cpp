// The order of the steps of a round in lock-step: one that is not the state's is refused, and one that fails
// ends the role.
#include "muffle/job/lockstep.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <map>

#include "job/job_setup.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/round/covered.hpp"
#include "support/expect_error.hpp"

namespace muffle::job {
namespace {

using test::kNumbers;

const release::Charge& a_charge() {
  static const release::Charge charge = release::TestAccess::charge();
  return charge;
}

template <class Role>
using Steps = std::map<std::string, std::function<void(Role&)>>;

/// Every step of a contributor, alone in a round of its own.
const Steps<Contributor>& contributors() {
  static const Steps<Contributor> all{
      {"begin_keys", [](Contributor& c) { c.begin_keys(nullptr); }},
      {"sign", [](Contributor& c) { c.sign({"x"}); }},
      {"agree_keys", [](Contributor& c) { c.agree_keys(std::vector<std::string>{""}); }},
      {"draw_share", [](Contributor& c) { c.draw_share(*test::entropy_at(0), {}); }},
      {"embed", [](Contributor& c) { c.embed(embed::PartialSum(kNumbers)); }},
      {"keep", [](Contributor& c) { c.keep(); }},
      {"close", [](Contributor& c) { c.close(); }},
      {"note_charge", [](Contributor& c) { c.note_charge(a_charge()); }},
      {"summand", [](Contributor& c) { c.summand(); }},
      {"secure_noise", [](Contributor& c) { (void)c.secure_noise(); }},
  };
  return all;
}

const Steps<Coordinator>& coordinators() {
  static const Steps<Coordinator> all{
      {"draw_noise", [](Coordinator& c) { c.draw_noise(a_charge(), test::entropy_at(0).get(), {}); }},
      {"take_total", [](Coordinator& c) { c.take_total(std::vector<std::uint64_t>(kNumbers, 0), true); }},
      {"publish", [](Coordinator& c) { c.publish(); }},
  };
  return all;
}

/// A role's states on its way, each reached by the steps before it.
const std::vector<std::string> kContributors{"proposed", "keys made", "keys signed", "keys agreed",
                                             "embedded", "closed",    "charged",     "sent"};
const std::vector<std::string> kCoordinators{"proposed", "charged", "summed", "published"};

std::unique_ptr<Contributor> contributor_in(const std::string& state, bool distributed) {
  auto c = std::make_unique<Contributor>(test::round_of(1, true, distributed), 0);
  if (state == "kept") {
    c->keep();
    return c;
  }
  if (state == "failed") {
    c->begin_keys(nullptr);
    EXPECT_ANY_THROW(c->sign({}));
    return c;
  }
  std::string message;
  const std::vector<std::function<void()>> way{
      [&] { message = c->begin_keys(nullptr); },
      [&] { message = c->sign({message}); },
      [&] { c->agree_keys(std::vector{message}); },
      [&] {
        if (distributed) contributors().at("draw_share")(*c);
        contributors().at("embed")(*c);
      },
      [&] { c->close(); },
      [&] { c->note_charge(a_charge()); },
      [&] { c->summand(); },
  };
  for (std::size_t i = 0; c->state() != state; ++i) way.at(i)();
  return c;
}

std::unique_ptr<Coordinator> coordinator_in(const std::string& state, bool distributed) {
  auto c = std::make_unique<Coordinator>(test::round_of(1, true, distributed));
  for (const char* const step : {"draw_noise", "take_total", "publish"})
    if (c->state() != state) coordinators().at(step)(*c);
  return c;
}

template <class Role>
void expect_refused(Role& role, const Steps<Role>& steps,
                    const std::multimap<std::string, std::string>& legal) {
  const std::string state(role.state());
  for (const auto& [name, step] : steps) {
    const auto range = legal.equal_range(state);
    const auto is_this = [&called = name](const auto& l) { return l.second == called; };
    if (std::any_of(range.first, range.second, is_this)) continue;
    EXPECT_THROW(step(role), InvariantError) << name << " in a round that is " << state;
    EXPECT_EQ(role.state(), state) << name << " has changed a round that is " << state;
  }
}

TEST(LockstepContributor, TakesEachStepInItsStateAlone) {
  for (const bool distributed : {false, true}) {
    const std::multimap<std::string, std::string> legal{
        {"proposed", "begin_keys"}, {"keys made", "sign"},
        {"proposed", "keep"},       {"keys made", "keep"},
        {"keys signed", "keep"},    {"keys signed", "agree_keys"},
        {"keys agreed", "keep"},    {"keys agreed", distributed ? "draw_share" : "embed"},
        {"embedded", "keep"},       {"embedded", "close"},
        {"closed", "note_charge"},  {"charged", "summand"},
        {"sent", "secure_noise"}};
    std::vector<std::string> states = kContributors;
    states.insert(states.end(), {"kept", "failed"});
    for (const std::string& state : states) {
      const auto c = contributor_in(state, distributed);
      ASSERT_EQ(c->state(), state);
      expect_refused(*c, contributors(), legal);
    }
  }
}

TEST(LockstepContributor, HasItsShareOfTheNoiseBeforeRecordsAreEmbedded) {
  const auto c = contributor_in("keys agreed", true);
  test::expect_error(ExitCode::kInvariant, {"before its share of the noise is drawn"},
                     [&] { contributors().at("embed")(*c); });
  EXPECT_EQ(c->state(), "keys agreed");
  contributors().at("draw_share")(*c);
  EXPECT_THROW(contributors().at("draw_share")(*c), InvariantError) << "one share";
  contributors().at("embed")(*c);
  EXPECT_EQ(c->state(), "embedded") << "the second draw changed nothing";
}

TEST(LockstepContributor, OfAnotherPartyHearsOfNoCharge) {
  Contributor elsewhere(test::round_of(2, false), 1);
  EXPECT_EQ(elsewhere.state(), "keys agreed") << "nothing is masked";
  contributors().at("embed")(elsewhere);
  elsewhere.close();
  EXPECT_THROW(elsewhere.note_charge(a_charge()), InvariantError);
  EXPECT_EQ(elsewhere.state(), "closed");
  EXPECT_EQ(elsewhere.summand().size(), kNumbers);
  EXPECT_TRUE(elsewhere.secure_noise()) << "it has none";
}

TEST(LockstepContributor, SaysWhetherItsShareIsSecure) {
  EXPECT_FALSE(contributor_in("sent", true)->secure_noise()) << "seeded noise";
  EXPECT_TRUE(contributor_in("sent", false)->secure_noise()) << "no share";
}

TEST(LockstepContributor, FailsWithTheStepThatFails) {
  const auto expect_failed = [](Contributor& c) {
    EXPECT_EQ(c.state(), "failed");
    expect_refused(c, contributors(), {});
  };
  const auto unheard = contributor_in("keys made", false);
  EXPECT_ANY_THROW(unheard->sign({"not a hello"}));
  expect_failed(*unheard);
  const auto unsigned_keys = contributor_in("keys signed", false);
  EXPECT_ANY_THROW(unsigned_keys->agree_keys({}));
  expect_failed(*unsigned_keys);
  const auto short_sums = contributor_in("keys agreed", false);
  short_sums->embed(embed::PartialSum(kNumbers - 1));
  short_sums->close();
  short_sums->note_charge(a_charge());
  EXPECT_THROW(short_sums->summand(), InvariantError);
  expect_failed(*short_sums);
}

TEST(LockstepContributor, HoldsOffARequestToStopFromItsClosingToItsEnd) {
  comm::install_termination_handler();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  bool closed = false;
  for (const std::string& state : kContributors) {
    const auto c = contributor_in(state, false);
    closed = closed || state == "closed";
    EXPECT_EQ(comm::termination_requested(), !closed) << state;
  }
  for (const char* const state : {"kept", "failed"}) {
    const auto c = contributor_in(state, false);
    EXPECT_TRUE(comm::termination_requested()) << state;
  }
  comm::clear_termination_request();
}

TEST(LockstepContributor, NamesItsMaskedRound) {
  EXPECT_EQ(contributor_in("keys agreed", false)->name().size(), 16u);
  EXPECT_EQ(Contributor(test::round_of(1, false), 0).name(), "");
}

TEST(LockstepCoordinator, TakesEachStepInItsStateAlone) {
  const std::multimap<std::string, std::string> legal{
      {"proposed", "draw_noise"}, {"charged", "take_total"}, {"summed", "publish"}};
  for (const bool distributed : {false, true}) {
    for (const std::string& state : kCoordinators) {
      const auto c = coordinator_in(state, distributed);
      ASSERT_EQ(c->state(), state);
      expect_refused(*c, coordinators(), legal);
    }
  }
}

// A proof of a charge cannot be made up or kept, and without one no noise is drawn.
TEST(LockstepCoordinator, NoiseNeedsACharge) {
  static_assert(
      !std::is_default_constructible_v<release::Charge> && !std::is_copy_constructible_v<release::Charge> &&
      !std::is_move_constructible_v<release::Charge> && !std::is_constructible_v<embed::PartialSum::Key>);
  static_assert(!std::is_copy_constructible_v<Contributor> && !std::is_move_constructible_v<Contributor> &&
                !std::is_copy_constructible_v<Coordinator> && !std::is_move_constructible_v<Coordinator> &&
                !std::is_copy_constructible_v<embed::PartialSum> &&
                !std::is_copy_constructible_v<round::Covered>);
}

TEST(LockstepCoordinator, FailsWithTheStepThatFails) {
  struct Stuck final : privacy::EntropySource {
    void fill(std::span<std::byte>) override { throw InvariantError("entropy is stuck"); }
    bool is_secure() const override { return true; }
  } stuck;
  Coordinator drawing(test::round_of(1, true));
  EXPECT_THROW(drawing.draw_noise(a_charge(), &stuck, {}), InvariantError);
  EXPECT_EQ(drawing.state(), "failed");
  expect_refused(drawing, coordinators(), {});
  const auto other_length = coordinator_in("charged", false);
  other_length->take_total(std::vector<std::uint64_t>(kNumbers + 1, 0), true);
  EXPECT_THROW(other_length->publish(), InvariantError);
  EXPECT_EQ(other_length->state(), "failed");
  expect_refused(*other_length, coordinators(), {});
}

TEST(LockstepCoordinator, SaysOfSharesWhatItIsTold) {
  for (const bool secure : {false, true}) {
    const auto c = coordinator_in("charged", true);
    c->take_total(std::vector<std::uint64_t>(kNumbers, 3), secure);
    const privacy::NoisySum noisy = c->publish();
    EXPECT_EQ(noisy.is_private, secure);
    EXPECT_EQ(noisy.values, std::vector<std::int64_t>(kNumbers, 3));
  }
}

}  // namespace
}  // namespace muffle::job
