#include <gtest/gtest.h>

#include "job/site_ranks_cases.hpp"
#include "support/mpi_world.hpp"

namespace muffle::job {
namespace {

TEST(SiteRanksOverMpi, RootContributesTheSameSumsForEveryNumberOfRanks) {
  test::expect_one_contribution(test::world());
}

}  // namespace
}  // namespace muffle::job
