// The order of a round's steps: one that is not the state's is refused, and one that fails ends the round.
#include "muffle/round/round.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <map>

#include "muffle/comm/termination.hpp"
#include "round/round_setup.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace {

using State = Round::State;
using test::kNumbers;

const release::Charge& a_charge() {
  static const release::Charge charge = release::TestAccess::charge();
  return charge;
}

using Step = std::function<void(Round&)>;

/// Every step that a coordinator takes in a round of its own.
const std::map<std::string, Step>& steps() {
  static const std::map<std::string, Step> all{
      {"begin_keys", [](Round& r) { r.begin_keys("test", nullptr); }},
      {"sign", [](Round& r) { r.sign({"x"}); }},
      {"agree_keys", [](Round& r) { r.agree_keys(std::vector<std::string>{""}); }},
      {"draw_share", [](Round& r) { r.draw_share(*test::entropy_at(0), {}); }},
      {"embed", [](Round& r) { r.embed(embed::PartialSum(kNumbers)); }},
      {"keep", [](Round& r) { r.keep(); }},
      {"close", [](Round& r) { r.close(); }},
      {"draw_noise", [](Round& r) { r.draw_noise(a_charge(), test::entropy_at(0).get(), {}); }},
      {"summand", [](Round& r) { r.summand(); }},
      {"take_total", [](Round& r) { r.take_total(std::vector<std::uint64_t>(kNumbers, 0)); }},
      {"publish", [](Round& r) { r.publish(); }},
  };
  return all;
}

/// A round of one site, brought to `state`.
std::unique_ptr<Round> round_in(State state, bool distributed) {
  auto r = std::make_unique<Round>(test::terms_of(1, true, distributed), 0);
  const auto until = [&](State s, const Step& step) {
    if (static_cast<int>(state) >= static_cast<int>(s)) step(*r);
  };
  if (state == State::kKept) {
    r->keep();
    return r;
  }
  if (state == State::kFailed) {
    r->begin_keys("test", nullptr);
    EXPECT_ANY_THROW(r->sign({}));
    return r;
  }
  std::string message;
  until(State::kKeysMade, [&](Round& x) { message = x.begin_keys("test", nullptr); });
  until(State::kKeysSigned, [&](Round& x) { message = x.sign({message}); });
  until(State::kKeysAgreed, [&](Round& x) { x.agree_keys(std::vector{message}); });
  if (distributed) until(State::kEmbedded, steps().at("draw_share"));
  until(State::kEmbedded, steps().at("embed"));
  until(State::kClosed, steps().at("close"));
  until(State::kCharged, steps().at("draw_noise"));
  until(State::kSumming, steps().at("summand"));
  until(State::kSummed, steps().at("take_total"));
  until(State::kPublished, steps().at("publish"));
  return r;
}

const std::vector<State> kStates{State::kProposed, State::kKeysMade,  State::kKeysSigned, State::kKeysAgreed,
                                 State::kEmbedded, State::kClosed,    State::kCharged,    State::kSumming,
                                 State::kSummed,   State::kPublished, State::kKept,       State::kFailed};

TEST(Round, TakesEachStepInItsStateAlone) {
  const std::multimap<State, std::string> legal{
      {State::kProposed, "begin_keys"}, {State::kKeysMade, "sign"},     {State::kKeysSigned, "agree_keys"},
      {State::kProposed, "keep"},       {State::kKeysMade, "keep"},     {State::kKeysSigned, "keep"},
      {State::kKeysAgreed, "embed"},    {State::kKeysAgreed, "keep"},   {State::kEmbedded, "keep"},
      {State::kEmbedded, "close"},      {State::kClosed, "draw_noise"}, {State::kCharged, "summand"},
      {State::kSumming, "take_total"},  {State::kSummed, "publish"}};
  for (const bool distributed : {false, true}) {
    for (const State state : kStates) {
      for (const auto& [name, step] : steps()) {
        const auto range = legal.equal_range(state);
        const auto is_this = [&called = name](const auto& l) { return l.second == called; };
        if (std::any_of(range.first, range.second, is_this)) continue;
        if (distributed && state == State::kKeysAgreed && name == "draw_share") continue;
        const auto r = round_in(state, distributed);
        ASSERT_EQ(r->state(), state);
        EXPECT_THROW(step(*r), InvariantError) << name << " in a round that is " << name_of(state);
        EXPECT_EQ(r->state(), state) << name << " has changed a round that is " << name_of(state);
      }
    }
  }
}

TEST(Round, HasItsShareOfTheNoiseBeforeRecordsAreEmbedded) {
  const auto r = round_in(State::kKeysAgreed, true);
  test::expect_error(ExitCode::kInvariant, {"before its share of the noise is drawn"},
                     [&] { steps().at("embed")(*r); });
  EXPECT_EQ(r->state(), State::kKeysAgreed);
  steps().at("draw_share")(*r);
  EXPECT_THROW(steps().at("draw_share")(*r), InvariantError) << "one share";
  steps().at("embed")(*r);
  EXPECT_EQ(r->state(), State::kEmbedded) << "the second draw changed nothing";
}

TEST(Round, NoiseIsTheCoordinators) {
  Round elsewhere(test::terms_of(2, false), 1);
  EXPECT_EQ(elsewhere.state(), State::kKeysAgreed) << "nothing is masked";
  steps().at("embed")(elsewhere);
  steps().at("close")(elsewhere);
  EXPECT_THROW(steps().at("draw_noise")(elsewhere), InvariantError);
  EXPECT_EQ(elsewhere.state(), State::kClosed) << "whose charge it is hears of no other";
  EXPECT_EQ(elsewhere.summand().size(), kNumbers);
  elsewhere.take_total({});
  EXPECT_TRUE(elsewhere.publish().values.empty());
}

// A proof of a charge cannot be made up or kept, and without one no noise is drawn.
TEST(Round, NoiseNeedsACharge) {
  static_assert(
      !std::is_default_constructible_v<release::Charge> && !std::is_copy_constructible_v<release::Charge> &&
      !std::is_move_constructible_v<release::Charge> && !std::is_constructible_v<embed::PartialSum::Key>);
  static_assert(!std::is_copy_constructible_v<Round> && !std::is_move_constructible_v<Round> &&
                !std::is_copy_constructible_v<embed::PartialSum>);
}

TEST(Round, FailsWithTheStepThatFails) {
  const auto fails = [](State state, const Step& step) {
    const auto r = round_in(state, false);
    EXPECT_ANY_THROW(step(*r)) << name_of(state);
    EXPECT_EQ(r->state(), State::kFailed);
    for (const auto& [name, next] : steps()) EXPECT_THROW(next(*r), InvariantError) << name;
  };
  fails(State::kKeysMade, [](Round& r) { r.sign({"not a hello"}); });
  fails(State::kKeysSigned, [](Round& r) { r.agree_keys({}); });
  fails(State::kClosed, [](Round& r) {
    struct Stuck final : privacy::EntropySource {
      void fill(std::span<std::byte>) override { throw InvariantError("entropy is stuck"); }
      bool is_secure() const override { return true; }
    } stuck;
    r.draw_noise(a_charge(), &stuck, {});
  });
  fails(State::kSumming, [](Round& r) {
    r.take_total(std::vector<std::uint64_t>(kNumbers + 1, 0));
    r.publish();
  });
  Round short_sums(test::terms_of(1, true), 0);
  const std::string hello = short_sums.begin_keys("test", nullptr);
  short_sums.agree_keys(std::vector<std::string>{short_sums.sign({hello})});
  short_sums.embed(embed::PartialSum(kNumbers - 1));
  short_sums.close();
  steps().at("draw_noise")(short_sums);
  EXPECT_THROW(short_sums.summand(), InvariantError);
  EXPECT_EQ(short_sums.state(), State::kFailed);
}

TEST(Round, HoldsOffARequestToStopFromItsClosingToItsEnd) {
  comm::install_termination_handler();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  for (const State state : kStates) {
    const auto r = round_in(state, false);
    const bool held = state >= State::kClosed && state <= State::kPublished;
    EXPECT_EQ(comm::termination_requested(), !held) << name_of(state);
  }
  EXPECT_TRUE(comm::termination_requested());
  comm::clear_termination_request();
}

TEST(Round, NamesItsMaskedRound) {
  EXPECT_EQ(round_in(State::kKeysAgreed, false)->name().size(), 16u);
  EXPECT_EQ(Round(test::terms_of(1, false), 0).name(), "");
}

}  // namespace
}  // namespace muffle::round
