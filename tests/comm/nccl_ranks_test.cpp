// How several ranks over NCCL hear of one another when it does not go on; CUDA and NCCL are doubles, and
// ranks are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "muffle/comm/nccl_group.hpp"
#include "nccl_double.hpp"
#include "spy_comm.hpp"
#include "support/thread_comm.hpp"

namespace muffle::comm {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr int kRanks = 3, kHung = 1;
constexpr milliseconds kDeadline{1600};  // a busy machine holds threads up

class NcclRanks : public testing::Test {
 protected:
  NcclRanks() {
    double_.reset();
    double_.gpus = kRanks;
  }
  ~NcclRanks() override { double_.reset(); }

  static std::unique_ptr<NcclGroup> group(HostComm& host) {
    return NcclGroup::create(host, watched_by(host, -1, kDeadline / 2));
  }

  /// Comes back once all ranks but one have given up.
  void hang() {
    while (gave_up_ < kRanks - 1) std::this_thread::sleep_for(milliseconds(1));
  }

  /// What each rank but the one that hangs has to say, where `body` ends with a CommError on them.
  std::vector<std::string> said(const std::function<void(HostComm&)>& body) {
    std::mutex mutex;
    std::vector<std::string> all;
    test::run_thread_ranks(
        kRanks,
        [&](HostComm& host) {
          std::string message = "it went well";
          try {
            body(host);
            if (host.rank() == kHung) return;
          } catch (const CommError& e) {
            message = e.what();
            EXPECT_FALSE(e.agreed());
          }
          ++gave_up_;
          const std::scoped_lock lock(mutex);
          all.push_back(message);
        },
        kDeadline);
    return all;
  }

  std::atomic<int> gave_up_{0};
  test::NcclDouble& double_ = test::nccl_double();
};

TEST_F(NcclRanks, OneThatHangsWhileTheOthersWaitForTheGpuIsNamed) {
  const auto messages = said([&](HostComm& host) {
    const auto nccl = group(host);
    host.barrier();
    double_.work_ends = false;
    if (host.rank() == kHung) return hang();
    nccl->synchronize(nullptr);
  });
  ASSERT_EQ(messages.size(), kRanks - 1u);
  EXPECT_THAT(messages, Each(AllOf(HasSubstr("NCCL: synchronize on rank"), HasSubstr("not done within 0.8 s"),
                                   HasSubstr("for want of rank 1"))));
  EXPECT_EQ(double_.aborted, kRanks) << "the one that hung, when it ended";
}

TEST_F(NcclRanks, OneThatHangsWhileTheOthersEnqueueIsNamed) {
  const auto messages = said([&](HostComm& host) {
    const auto nccl = group(host);
    host.barrier();
    double_.finalizes = false;
    if (host.rank() == kHung) return hang();
    nccl->finish();
  });
  EXPECT_THAT(messages, Each(HasSubstr("for want of rank 1")));
}

TEST_F(NcclRanks, OneThatHangsWhileNcclIsSetUpIsNamed) {
  double_.in_setup = [&](int rank) {
    double_.finalizes = false;
    if (rank == kHung) hang();
  };
  const auto messages = said([&](HostComm& host) { group(host); });
  EXPECT_THAT(messages, Each(HasSubstr("for want of rank 1")));
}

TEST_F(NcclRanks, OneThatHangsIsNamedAlsoWhereNcclHearsFirstThatAnotherHasGivenUp) {
  const auto messages = said([&](HostComm& host) {
    const auto nccl = group(host);
    host.barrier();
    double_.work_ends = false;
    double_.fails_later = true;
    if (host.rank() == kHung) return hang();
    nccl->synchronize(nullptr);
  });
  EXPECT_THAT(messages, Each(AllOf(HasSubstr("an error of the double"), HasSubstr("for want of rank 1"))));
}

TEST_F(NcclRanks, OneThatHangsWhileNcclIsTriedIsNamed) {
  thread_local int me = -1;
  double_.in_sum = [&] {
    double_.work_ends = false;
    if (me == kHung) hang();
  };
  const auto messages = said([&](HostComm& host) {
    me = host.rank();
    probe_nccl(host, me, std::chrono::duration<double>(kDeadline).count());
  });
  EXPECT_THAT(messages, Each(HasSubstr("for want of rank 1")));
}

TEST_F(NcclRanks, ATrialThatGoesWrongIsToldByAll) {
  test::run_thread_ranks(kRanks, [&](HostComm& host) {  // the double does not sum: right for one rank alone
    try {
      probe_nccl(host, host.rank(), 10);
      ADD_FAILURE() << "it went well";
    } catch (const InvariantError& e) {
      EXPECT_THAT(e.what(), HasSubstr("wrong at position 0"));
      EXPECT_TRUE(e.agreed());
    }
  });
  EXPECT_EQ(probe_nccl(*single_process(), 0, 10), "2.28.9");
}

TEST_F(NcclRanks, ALostRankEndsTheTrialAtOnce) {
  const auto alone = single_process();
  test::SpyComm host(*alone);
  host.on_check_lost = [] { throw CommError("lost rank 1 (host h)"); };
  double_.in_sum = [&] { double_.work_ends = false; };
  try {
    probe_nccl(host, 0, 10);
    ADD_FAILURE() << "it went well";
  } catch (const CommError& e) {
    EXPECT_THAT(e.what(), HasSubstr("lost rank 1 (host h)"));
    EXPECT_FALSE(e.agreed()) << "there is nobody to agree with";
  }
}

TEST_F(NcclRanks, WhereAllAreThereNobodyIsBlamed) {
  std::mutex mutex;
  std::vector<std::string> messages;
  test::run_thread_ranks(kRanks, [&](HostComm& host) {
    const auto nccl = group(host);
    host.barrier();
    double_.work_ends = false;
    try {
      nccl->synchronize(nullptr);
    } catch (const CommError& e) {
      const std::scoped_lock lock(mutex);
      messages.emplace_back(e.what());
    }
  });
  ASSERT_EQ(messages.size(), kRanks + 0u);
  EXPECT_THAT(messages, Each(AllOf(HasSubstr("though every rank is there"), Not(HasSubstr("for want of")))));
}

TEST_F(NcclRanks, ALostRankIsNamedInTheErrorThatTheGroupEndsWith) {
  const auto host = single_process();
  NcclOptions options;
  options.deadline = milliseconds(50);
  options.call_roll = [](milliseconds within) {
    EXPECT_EQ(within, milliseconds(25)) << "half of the deadline, which is over";
    CommError error("not heard from: rank 7 (host h)");
    error.mark_quiet();
    throw error;
  };
  const auto nccl = NcclGroup::create(*host, options);
  double_.work_ends = false;
  try {
    nccl->synchronize(nullptr);
    ADD_FAILURE() << "it went well";
  } catch (const CommError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("NCCL: synchronize"), HasSubstr("rank 7 (host h)")));
    EXPECT_TRUE(e.quiet()) << "another rank tells of it";
  }
  EXPECT_EQ(double_.aborted, 1) << "before others are asked";
}

/// Expects an Error that all ranks throw as one, of which rank 0 alone speaks.
void expect_agreed(const std::string& says) {
  test::run_thread_ranks(kRanks, [&](HostComm& host) {
    try {
      NcclGroup::create(host, {});
      ADD_FAILURE() << "not refused";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(says));
      EXPECT_TRUE(e.agreed());
      EXPECT_EQ(e.quiet(), !host.is_root());
    }
  });
}

TEST_F(NcclRanks, RanksThatWouldShareAGpuEndInOrder) {
  double_.gpus = kRanks - 1;
  expect_agreed("ranks 0 and 2");
}

TEST_F(NcclRanks, WithoutAUniqueIdAllEndInOrder) {
  double_.makes_ids = false;
  expect_agreed("no unique id on rank 0");
}

}  // namespace
}  // namespace muffle::comm
