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
  NcclEnd() { double_ = {}; }

  std::unique_ptr<NcclGroup> group(std::function<void()> meanwhile = {}) {
    NcclOptions options;
    options.deadline = std::chrono::milliseconds(100);
    options.meanwhile = std::move(meanwhile);
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
