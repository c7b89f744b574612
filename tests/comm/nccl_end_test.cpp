// How a group over NCCL waits and ends, without a GPU: CUDA and NCCL are doubles (nccl_double.cpp).
// nccl_group_test.cpp is the same class on real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "muffle/comm/nccl_group.hpp"
#include "nccl_double.hpp"

namespace muffle::comm {
namespace {

using testing::HasSubstr;

class NcclEnd : public testing::Test {
 protected:
  NcclEnd() { double_.reset(); }

  std::unique_ptr<NcclGroup> group(Heartbeat heartbeat = {}) {
    NcclOptions options;
    options.deadline = std::chrono::milliseconds(100);
    options.heartbeat = std::move(heartbeat);
    auto made = NcclGroup::create(*host_, options);
    made->before_end([this] { double_.captured = 0; });
    return made;
  }

  /// @returns the message of the CommError that waiting ends with.
  static std::string failed_wait(NcclGroup& group) {
    try {
      group.synchronize(nullptr);
    } catch (const CommError& e) {
      return e.what();
    }
    return "the wait ended well";
  }

  std::unique_ptr<HostComm> host_ = single_process();
  test::NcclDouble& double_ = test::nccl_double();
};

TEST_F(NcclEnd, AnOrderlyEndDropsTheGraphsFirst) {
  const auto nccl = group();
  double_.captured = 2;
  nccl->synchronize(nullptr);
  nccl->finish();
  EXPECT_EQ(double_.destroyed, 1);
  EXPECT_EQ(double_.graphs_at_end, 0);
  EXPECT_EQ(double_.aborted, 0);
}

TEST_F(NcclEnd, WorkThatNeverEndsIsAnErrorAtTheDeadlineAndTheAbortDropsTheGraphsFirst) {
  const auto nccl = group();
  double_.captured = 1;
  double_.work_ends = false;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(failed_wait(*nccl), HasSubstr("synchronize on rank 0 of 1"));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  EXPECT_EQ(double_.aborted, 1);
  EXPECT_EQ(double_.graphs_at_end, 0);
  EXPECT_THAT(failed_wait(*nccl), HasSubstr("died earlier, in synchronize"));
}

TEST_F(NcclEnd, ALateErrorOfNcclEndsTheWait) {
  const auto nccl = group();
  double_.captured = 1;
  double_.work_ends = false;
  double_.fails_later = true;
  EXPECT_THAT(failed_wait(*nccl), HasSubstr("an error of the double"));
  EXPECT_EQ(double_.aborted, 1);
  EXPECT_EQ(double_.graphs_at_end, 0);
}

TEST_F(NcclEnd, AnotherRanksEndIsHeardWhileTheGpuWorks) {
  const auto nccl = group([] { throw CommError("rank 1 is lost"); });
  double_.captured = 1;
  double_.work_ends = false;
  EXPECT_EQ(failed_wait(*nccl), "rank 1 is lost");
  EXPECT_EQ(double_.aborted, 1);
  EXPECT_EQ(double_.graphs_at_end, 0);
}

TEST_F(NcclEnd, AnotherRanksEndIsHeardWhileNcclSettles) {
  const auto nccl = group([] { throw CommError("rank 1 is lost"); });
  double_.finalizes = false;
  try {
    nccl->finish();
    ADD_FAILURE() << "it ended well";
  } catch (const CommError& e) {
    EXPECT_STREQ(e.what(), "rank 1 is lost");
  }
  EXPECT_EQ(double_.aborted, 1);
}

TEST_F(NcclEnd, TheGpusTimeIsReadOnceItHasDoneTheWork) {
  const auto nccl = group();
  float number = 0;
  nccl->all_reduce_sum(&number, 1, nullptr);
  nccl->begin_all_reduce_sum(&number, 1, nullptr);
  nccl->finish_sums(nullptr);
  nccl->broadcast(&number, sizeof number, 0, nullptr);
  EXPECT_EQ(nccl->time_in_sums().calls, 0u) << "nobody has waited";
  double_.events_happen = false;  // begun, and not waited for
  nccl->synchronize(nullptr);
  EXPECT_EQ(nccl->time_in_sums().calls, 0u);
  double_.events_happen = true;
  for (int repeat = 0; repeat < 2; ++repeat) {  // a pair of events counts once
    nccl->synchronize(nullptr);
    EXPECT_EQ(nccl->time_in_sums().calls, 2u);
    EXPECT_DOUBLE_EQ(nccl->time_in_sums().seconds, 2 * test::kMilliseconds / 1000.0);
    EXPECT_EQ(nccl->time_in_broadcasts().calls, 1u);
    EXPECT_DOUBLE_EQ(nccl->time_in_broadcasts().seconds, test::kMilliseconds / 1000.0);
  }
  const int made = double_.events;
  nccl->all_reduce_sum(&number, 1, nullptr);
  nccl->synchronize(nullptr);
  EXPECT_EQ(double_.events, made) << "events are used again";
}

TEST_F(NcclEnd, NoTimeIsTakenWithinACudaGraph) {
  const auto nccl = group();
  float number = 0;
  EXPECT_FALSE(nccl->capturing(nullptr));
  double_.capturing = true;
  EXPECT_TRUE(nccl->capturing(nullptr));
  const int recorded = double_.recorded;
  nccl->all_reduce_sum(&number, 1, nullptr);
  EXPECT_EQ(double_.recorded, recorded);
  double_.capturing = false;
  nccl->synchronize(nullptr);
  EXPECT_EQ(nccl->time_in_sums().calls, 0u);
}

TEST_F(NcclEnd, NoEventOutlivesItsGroup) {
  {
    const auto nccl = group();
    float number = 0;
    nccl->all_reduce_sum(&number, 1, nullptr);
    nccl->synchronize(nullptr);
    nccl->all_reduce_sum(&number, 1, nullptr);
  }
  EXPECT_EQ(double_.events, 0);
}

TEST_F(NcclEnd, AnUnfinishedGroupIsAbortedWithoutItsGraphs) {
  group().reset();
  EXPECT_EQ(double_.aborted, 1);
  {
    const auto nccl = group();
    double_.captured = 1;
  }
  EXPECT_EQ(double_.aborted, 2);
  EXPECT_EQ(double_.graphs_at_end, 0);
}

}  // namespace
}  // namespace muffle::comm
