#include <gtest/gtest.h>

#include "round/site_ranks_cases.hpp"
#include "support/mpi_world.hpp"

namespace muffle::round {
namespace {

TEST(SiteRanksOverMpi, RootContributesTheSameSumsForEveryNumberOfRanks) {
  test::expect_one_contribution(test::world());
}

}  // namespace
}  // namespace muffle::round
