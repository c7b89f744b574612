#pragma once

#include "muffle/job/site_ranks.hpp"
#include "round/consortium.hpp"

namespace muffle::test {

/// Rank r's part of numbers that add up to World::sums_of(), and of m_i = 11, for every number of ranks.
inline round::OwnSums part_of(const round::ProposedRound& round, int rank, int ranks) {
  std::vector<std::uint64_t> sums = round::World::sums_of(round, 0);
  // Modulo 2^64, as real parts: rank 0 has what is left.
  for (std::size_t n = 0; n < sums.size(); ++n) {
    if (rank == 0) {
      for (int r = 1; r < ranks; ++r)
        sums[n] -= (n + 1) * 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(r);
    } else {
      sums[n] = (n + 1) * 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(rank);
    }
  }
  const std::uint64_t records = rank == 0 ? 11 - static_cast<std::uint64_t>(ranks - 1) : 1;
  return {embed::TestAccess::make(std::move(sums)), records};
}

/// Collective: in its step root gets the whole sums, for every number of ranks; each rank is asked once.
inline void expect_one_contribution(comm::HostComm& comm) {
  const round::World world({4, 4, 3, 1, 3, 1, 0}, 100);
  const round::ProposedRound round = world.round();
  int parts = 0, steps = 0;
  job::SiteRanks job(comm, [&](const release::ReleasePlan& plan) {
    ++parts;
    EXPECT_EQ(plan.size(), round.length);
    return part_of(round, comm.rank(), comm.size());
  });
  job.run("a step", [&] {
    ++steps;
    const round::OwnSums all = job.sum(round.proposal.plan);
    EXPECT_EQ(embed::TestAccess::values(all.sums), round::World::sums_of(round, 0));
    EXPECT_EQ(all.records, 11u);
  });
  EXPECT_EQ(parts, 1);
  EXPECT_EQ(steps, comm.is_root() ? 1 : 0);
}

}  // namespace muffle::test
