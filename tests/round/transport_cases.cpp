#include "round/transport_cases.hpp"

#include <gtest/gtest.h>

#include "round/round_setup.hpp"
#include "support/expect_error.hpp"

namespace muffle::test {
namespace {

using round::Round;
using round::Transport;
using Vector = std::vector<std::uint64_t>;

// A failed check never skips a message: the other sites would wait for this one until the deadline.

std::string message_of(int site) {
  return std::string(static_cast<std::size_t>(site) * 3, 'a') + std::string(1, '\0');
}

void knows_its_place(Transport& t) {
  ASSERT_GE(t.site(), 0);
  ASSERT_LT(t.site(), t.sites());
  EXPECT_EQ(t.coordinates(), t.site() == 0);
}

void carries_messages(Transport& t) {
  for (const bool empty : {false, true}) {
    const std::string mine = empty ? "" : message_of(t.site());
    std::vector<std::string> all;
    for (int s = 0; s < t.sites(); ++s) all.push_back(empty ? "" : message_of(s));
    EXPECT_EQ(t.to_all(mine), all);
    EXPECT_EQ(t.to_coordinator(mine), t.coordinates() ? all : std::vector<std::string>());
    EXPECT_EQ(t.from_coordinator(mine), all[0]);
  }
  for (const bool yes : {false, true}) EXPECT_EQ(t.coordinator_says(t.coordinates() ? yes : !yes), yes);
}

void sums_modulo_2_64(Transport& t) {
  for (const std::size_t n : {0, 1, 1000}) {
    Vector expected(n, 0), mine = contribution(t.site(), n);
    for (int s = 0; s < t.sites(); ++s) add_to(expected, contribution(s, n));
    EXPECT_EQ(t.sum_to_coordinator(std::move(mine)), t.coordinates() ? expected : Vector());
    EXPECT_EQ(std::count(mine.begin(), mine.end(), 0u),
              std::ssize(mine));  // NOLINT(bugprone-use-after-move): wiped
  }
}

void a_step_that_fails_at_one_site_fails_at_all(Transport& t) {
  for (int bad = 0; bad < t.sites(); ++bad) {
    expect_error(ExitCode::kData, {"cut off"}, [&] {
      t.agree("reading", true, [&] {
        if (t.site() == bad) throw DataError("the file is cut off");
      });
    });
    EXPECT_NO_THROW(t.agree("reading", true, [] {}));
  }
}

void a_round_releases_the_noisy_sum(Transport& t) {
  for (const bool masked : {false, true}) {
    const round::Terms terms = terms_of(t.sites(), masked);
    const privacy::NoisySum noisy = run_round(t, terms);
    EXPECT_EQ(noisy.values,
              t.coordinates() ? expected_release(t.sites(), terms) : std::vector<std::int64_t>());
    EXPECT_EQ(noisy.is_private, !t.coordinates()) << "seeded noise";
  }
}

void every_sites_share_is_in_the_release(Transport& t) {
  for (int colluding = 0; colluding < t.sites(); ++colluding) {
    const round::Terms terms = terms_of(t.sites(), true, true, colluding);
    const privacy::NoisySum noisy = run_round(t, terms);
    EXPECT_EQ(noisy.values,
              t.coordinates() ? expected_release(t.sites(), terms) : std::vector<std::int64_t>());
    EXPECT_FALSE(noisy.is_private) << "seeded noise";
  }
}

void what_leaves_a_site_is_masked(Transport& inner) {
  MeddledTransport t(inner);
  run_round(t, terms_of(t.sites(), true));
  ASSERT_EQ(t.sent.size(), 1u);
  for (std::size_t i = 0; i < kNumbers; ++i)
    EXPECT_EQ(t.sent[0][i] == contribution(t.site(), kNumbers)[i], t.sites() == 1);
}

void sites_with_different_purposes_do_not_sum(Transport& inner) {
  MeddledTransport t(inner);
  Round r(terms_of(t.sites(), true), t.site());
  const auto agree = [&] {
    round::agree_on_keys(r, t, t.site() == t.sites() - 1 ? "another" : "this", nullptr);
  };
  if (t.sites() == 1) return agree();
  expect_error(ExitCode::kProtocol, {"configuration's hash", "Nothing was revealed"}, agree);
  EXPECT_THROW(r.embed(embed::TestAccess::make(contribution(t.site(), kNumbers))), InvariantError);
  EXPECT_TRUE(t.sent.empty());
  a_round_releases_the_noisy_sum(t);  // the transport lives on
}

}  // namespace

const std::vector<TransportCase>& transport_cases() {
  static const std::vector<TransportCase> cases{
      {"KnowsItsPlace", knows_its_place},
      {"CarriesMessages", carries_messages},
      {"SumsModulo2To64", sums_modulo_2_64},
      {"AStepThatFailsAtOneSiteFailsAtAll", a_step_that_fails_at_one_site_fails_at_all},
      {"ARoundReleasesTheNoisySum", a_round_releases_the_noisy_sum},
      {"EverySitesShareIsInTheRelease", every_sites_share_is_in_the_release},
      {"WhatLeavesASiteIsMasked", what_leaves_a_site_is_masked},
      {"SitesWithDifferentPurposesDoNotSum", sites_with_different_purposes_do_not_sum},
  };
  return cases;
}

void expect_kept(const TransportCase& promise, comm::HostComm& job) {
  bool served = false;
  for (const round::TransportKind& kind : round::transport_kinds()) {
    if (!kind.serves(job)) continue;
    SCOPED_TRACE(kind.name);
    promise.body(*kind.make(job));
    served = true;
  }
  EXPECT_TRUE(served);
}

}  // namespace muffle::test
