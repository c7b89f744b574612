// What releases cost together, and what a budget lets through.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;
using ::testing::HasSubstr;

using LedgerTest = LedgerFixture;

TEST_F(LedgerTest, SpentOnlyGrowsAndIsNeverBelowTheExactSum) {
  Ledger ledger = open();
  double before = 0;
  long double exact = 0;
  for (int i = 1; i <= 60; ++i) {
    const double mu = 0.1 / i;
    ledger.begin(terms(mu));
    exact += static_cast<long double>(mu) * mu;
    EXPECT_GT(ledger.state().spent_squares, before);
    EXPECT_GE(static_cast<long double>(ledger.state().spent_squares), exact);
    before = ledger.state().spent_squares;
  }
  EXPECT_NEAR(before, static_cast<double>(exact), 1e-15);
}

TEST_F(LedgerTest, ABudgetOfOneReleaseAllowsThatRelease) {
  for (const double epsilon : {0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) {
    const PrivacySpec spec{.epsilon = epsilon, .noise_multiplier = {}, .max_records_per_person = 1};
    const double mu = mu_of(plan_noise(spec, {.blocks = {{1.0, false, "unit"}}}, {{{{1, 0x1p24}}, 1}}));
    LedgerState state;
    state.budget = Budget::from_epsilon(epsilon, 1e-5);
    EXPECT_TRUE(quote(state, mu, true, 1e-5).allowed) << epsilon;
    // Two of them do not fit.
    state.spent_squares = mu * mu;
    EXPECT_FALSE(quote(state, mu, true, 1e-5).allowed) << epsilon;
  }
}

TEST_F(LedgerTest, MuIsOfTheNoiseThatIsDrawnRoundedUp) {
  NoisePlan plan;
  plan.sensitivity.value = 2.0;
  plan.parts = {{{{1, 0x1p24, std::uint64_t{3} << 24}}, 1}};
  EXPECT_GE(static_cast<long double>(mu_of(plan)), 2.0L / 3.0L);
  EXPECT_LE(mu_of(plan), next_up(2.0 / 3.0));
  plan.parts = {{{{1, 0x1p24, std::uint64_t{4} << 24}}, 1}};
  EXPECT_EQ(mu_of(plan), 0.5);
  // Of several runs the least noisy one counts: the others are post-processing of it.
  plan.parts.push_back({{{7, 0x1p20, std::uint64_t{5} << 20}, {1, 0x1p10, std::uint64_t{3} << 10}}, 2});
  EXPECT_GE(static_cast<long double>(mu_of(plan)), 2.0L / 3.0L);
  EXPECT_LE(mu_of(plan), next_up(2.0 / 3.0));
}

TEST_F(LedgerTest, TheBoundaryIsDecidedAgainstTheAsker) {
  LedgerState state;
  state.budget = Budget{1.0, 1e-5, {}};
  EXPECT_TRUE(quote(state, 1.0, true, 1e-5).allowed) << "exactly the budget fits";
  EXPECT_FALSE(quote(state, next_up(1.0), true, 1e-5).allowed) << "one ulp more does not";
  state.spent_squares = 0.75;
  EXPECT_TRUE(quote(state, 0.5, true, 1e-5).allowed);
  EXPECT_FALSE(quote(state, next_up(0.5), true, 1e-5).allowed);
  // sqrt(1/2) as a double is above the real one: twice that is above 1.
  state.spent_squares = multiply_up(std::sqrt(0.5), std::sqrt(0.5));
  EXPECT_FALSE(quote(state, std::sqrt(0.5), true, 1e-5).allowed);
  state.spent_squares = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(quote(state, 0.1, true, 1e-5).allowed) << "NaN spends everything";
}

TEST_F(LedgerTest, WhatRemainsFits) {
  for (const double spent : {0.0, 0.1, 1.0 / 3, 0.9999}) {
    LedgerState state;
    state.budget = Budget{1.1, 1e-5, {}};
    state.spent_squares = spent;
    const double remaining = *quote(state, 0.5, true, 1e-5).remaining_mu;
    EXPECT_TRUE(quote(state, remaining, true, 1e-5).allowed) << spent;
    EXPECT_FALSE(quote(state, remaining * (1 + 1e-12), true, 1e-5).allowed) << spent;
  }
}

TEST_F(LedgerTest, ARefusalShowsTheArithmeticAndChargesNothing) {
  Ledger ledger = open(Budget::from_epsilon(1, 1e-5));
  const double mu = 1 / noise_multiplier_for(0.5, 1e-5);
  release(ledger, terms(mu), 'a');
  const std::string before = read_file(file_);
  // mu(0.5) = 0.142211, mu(0.9) from the accountant, budget mu(1) = 0.268051.
  const double asked = 1 / noise_multiplier_for(0.9, 1e-5);
  expect_error(
      ExitCode::kBudget,
      {"patients-2024", "spent so far mu 0.142211 (epsilon 0.5 at delta 1e-05) in 1 charge",
       "asks for mu 0.24", "(epsilon 0.9 at delta 1e-05)", "together mu 0.28",
       "the budget is mu 0.268051 (epsilon 1 at delta 1e-05)", "before this release there remains mu 0.22",
       "noise multiplier of 4.40", "Nothing was charged", "ledger.jsonl"},
      [&] { ledger.begin(terms(asked)); });
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(LedgerTest, MuThatIsNoMuIsRefused) {
  Ledger ledger = open();
  const std::string before = read_file(file_);
  for (const double mu : {0.0, -1.0, 1e-8, 1e5, std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()}) {
    expect_error(ExitCode::kConfig, {"mu", "Nothing was charged"}, [&] { ledger.begin(terms(mu)); });
  }
  for (const double delta : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error(ExitCode::kConfig, {"delta"}, [&] { Budget::from_epsilon(1, delta); });
  }
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(LedgerTest, SeededNoiseFitsIntoNoBudgetAndIsRememberedWithoutOne) {
  ChargeTerms seeded = terms(0.001);
  seeded.secure_noise = false;
  {
    Ledger ledger = open();
    ledger.begin(seeded);
    EXPECT_EQ(ledger.state().insecure, 1u);
    EXPECT_THAT(quote(ledger.state(), 0.1, true, 1e-5).text, HasSubstr("NO guarantee"));
  }
  Ledger ledger = open(Budget{1, 1e-5, {}});
  expect_error(ExitCode::kBudget, {"seeded"}, [&] { ledger.begin(terms(0.001)); });
}

TEST_F(LedgerTest, ABudgetIsRecordedOnceAndHolds) {
  { open(); }
  { open(Budget::from_epsilon(1, 1e-5)); }
  EXPECT_EQ(read_ledger(file_).budget, Budget::from_epsilon(1, 1e-5));
  { open(Budget::from_epsilon(1, 1e-5)); }
  EXPECT_EQ(read_ledger(file_).lines, 2u) << "the same budget is not written again";
  // Leaving the budget out of the configuration does not lift it.
  expect_error(ExitCode::kBudget, {"budget"}, [&] { open().begin(terms(1.0)); });
  for (const double epsilon : {0.5, 2.0}) {
    expect_error(ExitCode::kConfig, {"patients-2024", "epsilon 1", "muffle ledger budget"},
                 [&] { open(Budget::from_epsilon(epsilon, 1e-5)); });
  }
  open().set_budget(Budget{3, 1e-5, {}});
  EXPECT_NO_THROW(open().begin(terms(1.0)));
}

}  // namespace
}  // namespace muffle::privacy
