#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <concepts>
#include <type_traits>

#include "secure_sum_cases.hpp"
#include "secure_sum_sites.hpp"
#include "comm/spy_comm.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::round {
namespace {

using test::contribution;
using test::expect_error;
using test::run_thread_ranks;
using test::SpyComm;
using Vector = std::vector<std::uint64_t>;

TEST(SecureSumTest, SameBitsAsThePlainSum) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      for (const std::size_t n : test::kLengths) test::expect_same_as_plain(comm, n, false);
      for (const std::size_t n : test::kLengths) test::expect_same_as_plain(comm, n, true);
    });
  }
}

TEST(SecureSumTest, SameBitsWithSignedKeys) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    test::Sites sites(ranks);
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      const crypto::SiteIdentity identity = sites.identity(comm.rank());
      test::expect_same_as_plain(comm, 1000, false, &identity);
      test::expect_same_as_plain(comm, 1000, true, &identity);
    });
  }
}

TEST(SecureSumTest, OneRankNeedsNoMasks) {
  run_thread_ranks(1, [](comm::HostComm& inner) {
    SpyComm comm(inner);
    std::ignore = SecureSum(comm, {10, "c", nullptr}).reduce_to_root(contribution(0, 10));
    EXPECT_EQ(comm.reduced, std::vector<Vector>{contribution(0, 10)});
  });
}

TEST(SecureSumTest, TheSummandIsWipedEvenIfTheRoundFails) {
  for (const int ranks : {1, 3}) {
    run_thread_ranks(ranks, [](comm::HostComm& comm) {
      Vector mine = contribution(comm.rank(), 10);
      std::ignore = SecureSum(comm, {10, "c", nullptr}).reduce_to_root(std::move(mine));
      EXPECT_EQ(mine, Vector(10, 0));  // NOLINT(bugprone-use-after-move): zeroed, as promised
    });
  }
  Vector mine = contribution(0, 10);
  EXPECT_THROW(run_thread_ranks(2,
                                [&mine](comm::HostComm& comm) {
                                  SecureSum sum(comm, {10, "c", nullptr});
                                  if (comm.rank() == 0)
                                    std::ignore = std::move(sum).reduce_to_root(std::move(mine));
                                }),
               CommError);
  EXPECT_EQ(mine, Vector(10, 0));  // NOLINT(bugprone-use-after-move)
}

// Whoever sees the vectors of some ranks, or their sum, sees neither their vectors nor the sum of these: the
// masks shared with the ranks outside cover each number. Only all ranks together are bare. (A number is
// covered with itself with probability 2^-64.)
TEST(SecureSumTest, EverySumOfSomeRanksButNotAllIsCovered) {
  constexpr int kRanks = 4;
  constexpr std::size_t kLength = 100;
  std::array<Vector, kRanks> masked;
  run_thread_ranks(kRanks, [&](comm::HostComm& inner) {
    SpyComm comm(inner);
    std::ignore = SecureSum(comm, {kLength, "c", nullptr}).reduce_to_root(contribution(comm.rank(), kLength));
    ASSERT_EQ(comm.reduced.size(), 1u);
    masked[static_cast<std::size_t>(comm.rank())] = comm.reduced[0];
  });
  for (unsigned subset = 1; subset < 1u << kRanks; ++subset) {
    for (std::size_t i = 0; i < kLength; ++i) {
      std::uint64_t seen = 0, hidden = 0;
      for (int r = 0; r < kRanks; ++r) {
        if ((subset >> r & 1) == 0) continue;
        seen += masked[static_cast<std::size_t>(r)][i];
        hidden += contribution(r, kLength)[i];
      }
      EXPECT_EQ(seen == hidden, subset == (1u << kRanks) - 1) << "ranks " << subset << ", number " << i;
    }
  }
}

TEST(SecureSumTest, TheSameInputIsMaskedAnewEachTime) {
  run_thread_ranks(3, [](comm::HostComm& inner) {
    SpyComm comm(inner);
    std::string rounds;
    for (int i = 0; i < 2; ++i) {
      SecureSum sum(comm, {500, "c", nullptr});
      EXPECT_EQ(sum.round().size(), 16u);
      EXPECT_EQ(rounds.find(sum.round()), std::string::npos) << "rounds have names of their own";
      rounds += sum.round() + " ";
      std::ignore = std::move(sum).reduce_to_root(contribution(comm.rank(), 500));
    }
    ASSERT_EQ(comm.reduced.size(), 2u);
    for (std::size_t i = 0; i < 500; ++i) EXPECT_NE(comm.reduced[0][i], comm.reduced[1][i]);
  });
}

template <class T>
concept UsableTwice = requires(T sum, Vector values) {
  sum.reduce_to_root(std::move(values));
};
template <class T>
concept UsableOnce = requires(T sum, Vector values) {
  std::move(sum).reduce_to_root(std::move(values));
};
template <class T>
concept CopiesItsInput = requires(T sum, Vector values) {
  std::move(sum).reduce_to_root(values);
};

TEST(SecureSumTest, IsSingleUseByType) {
  static_assert(UsableOnce<SecureSum> && !UsableTwice<SecureSum> && !CopiesItsInput<SecureSum>);
  static_assert(!std::is_copy_constructible_v<SecureSum> && !std::is_copy_assignable_v<SecureSum> &&
                !std::is_move_assignable_v<SecureSum>);
  run_thread_ranks(2, [](comm::HostComm& inner) {
    SpyComm comm(inner);
    SecureSum sum(comm, {2, "c", nullptr});
    std::ignore = std::move(sum).reduce_to_root({1, 2});
    expect_error(ExitCode::kInvariant, {"twice"}, [&] { std::move(sum).reduce_to_root({1, 2}); });
    EXPECT_EQ(comm.reduced.size(), 1u) << "nothing went out the second time";
  });
}

TEST(SecureSumTest, AnotherLengthThanAgreedGoesNowhere) {
  run_thread_ranks(2, [](comm::HostComm& inner) {
    SpyComm comm(inner);
    SecureSum sum(comm, {2, "c", nullptr});
    expect_error(ExitCode::kInvariant, {"2 numbers"}, [&] { std::move(sum).reduce_to_root({1, 2, 3}); });
    EXPECT_TRUE(comm.reduced.empty());
  });
}

TEST(SecureSumTest, ALostRankEndsTheRoundWithNothingRevealed) {
  constexpr std::size_t kLength = 64;
  std::array<Vector, 3> masked;
  std::atomic<int> ended = 0;
  run_thread_ranks(
      4,
      [&](comm::HostComm& inner) {
        SpyComm comm(inner);
        SecureSum sum(comm, {kLength, "c", nullptr});
        if (comm.rank() == 3) return;  // lost after the keys were exchanged
        EXPECT_THROW(std::move(sum).reduce_to_root(contribution(comm.rank(), kLength)), CommError);
        ASSERT_EQ(comm.reduced.size(), 1u);
        masked[static_cast<std::size_t>(comm.rank())] = comm.reduced[0];
        ++ended;
      },
      std::chrono::minutes(2));
  ASSERT_EQ(ended, 3);
  // All that ever went out, added up, is still covered by the lost rank's masks.
  for (std::size_t i = 0; i < kLength; ++i) {
    std::uint64_t seen = 0, hidden = 0;
    for (int r = 0; r < 3; ++r) {
      seen += masked[static_cast<std::size_t>(r)][i];
      hidden += contribution(r, kLength)[i];
    }
    EXPECT_NE(seen, hidden);
  }
}

TEST(SecureSumTest, ARankThatNeverComesEndsTheRoundBeforeAnythingIsSent) {
  std::atomic<int> ended = 0;
  run_thread_ranks(
      3,
      [&](comm::HostComm& inner) {
        if (inner.rank() == 1) return;
        SpyComm comm(inner);
        expect_error(ExitCode::kPeer, {"rank 1"}, [&] { SecureSum(comm, {4, "c", nullptr}); });
        EXPECT_TRUE(comm.reduced.empty());
        ++ended;
      },
      std::chrono::minutes(2));
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace muffle::round
