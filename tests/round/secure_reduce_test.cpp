#include <gtest/gtest.h>

#include <mutex>
#include <numeric>

#include "muffle/round/secure_sum.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "support/thread_comm.hpp"

namespace muffle::embed {

/// Partial sums with known content.
struct TestAccess {
  static PartialSum make(std::vector<std::uint64_t> sums) {
    PartialSum partial(0);
    partial.sums_ = std::move(sums);
    return partial;
  }
};

namespace {

constexpr std::size_t kLength = 50;

std::vector<std::uint64_t> sums_of(int rank) {
  std::vector<std::uint64_t> sums(kLength);
  for (std::size_t i = 0; i < kLength; ++i) sums[i] = (i + 1) * static_cast<std::uint64_t>(rank + 1) - 60;
  return sums;
}

std::int64_t total_at(std::size_t i, int ranks) {
  return static_cast<std::int64_t>(i + 1) * ranks * (ranks + 1) / 2 - 60 * ranks;
}

std::vector<std::int64_t> published(privacy::RawSum&& raw, std::uint64_t seed) {
  const auto entropy = privacy::insecure_seeded_entropy(seed);
  return privacy::NoiseVector(kLength, 1000, *entropy).publish(std::move(raw)).values;
}

TEST(SecureReduceTest, MasksChangeNoBitOfTheRelease) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      privacy::RawSum plain = reduce_to_root(comm, TestAccess::make(sums_of(comm.rank())));
      privacy::RawSum masked = reduce_to_root(round::SecureSum(comm, {kLength, "test", nullptr}),
                                              TestAccess::make(sums_of(comm.rank())));
      if (!comm.is_root()) return;
      EXPECT_EQ(published(std::move(plain), 3), published(std::move(masked), 3));
    });
  }
}

TEST(SecureReduceTest, EveryRanksShareIsInTheRelease) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int t = 0; t < ranks; ++t) {
      privacy::NoisePlan plan;
      plan.parts = {{{{kLength, 1.0, 100'000}}, 1}};
      const auto shares = privacy::plan_distributed_noise(plan, ranks, t);
      std::vector<std::int64_t> expected(kLength);
      for (std::size_t i = 0; i < kLength; ++i) expected[i] = total_at(i, ranks);
      for (int r = 0; r < ranks; ++r) {
        const auto entropy = privacy::insecure_seeded_entropy(static_cast<std::uint64_t>(r) + 9);
        const auto noise = privacy::draw_noise(shares.shares, *entropy);
        for (std::size_t i = 0; i < kLength; ++i) expected[i] += noise[i];
      }
      test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
        const auto entropy = privacy::insecure_seeded_entropy(static_cast<std::uint64_t>(comm.rank()) + 9);
        const privacy::NoisySum noisy =
            reduce_to_root(round::SecureSum(comm, {kLength, "test", nullptr}),
                           TestAccess::make(sums_of(comm.rank())), privacy::NoiseShare(shares, *entropy));
        EXPECT_FALSE(noisy.is_private) << "seeded noise";
        if (comm.is_root()) {
          EXPECT_EQ(noisy.values, expected) << ranks << " ranks, " << t << " colluding";
        } else {
          EXPECT_TRUE(noisy.values.empty());
        }
      });
    }
  }
}

TEST(SecureReduceTest, OsEntropyMakesAPrivateRelease) {
  privacy::NoisePlan plan;
  plan.parts = {{{{kLength, 1.0, 100'000}}, 1}};
  const auto shares = privacy::plan_distributed_noise(plan, 2, 1);
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    const auto entropy = privacy::os_entropy();
    EXPECT_TRUE(reduce_to_root(round::SecureSum(comm, {kLength, "test", nullptr}),
                               TestAccess::make(sums_of(comm.rank())), privacy::NoiseShare(shares, *entropy))
                    .is_private);
  });
}

}  // namespace
}  // namespace muffle::embed
