// The promises of the kinds of Together in the table, for one process and threads, and what only threads can
// show.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "job/job_setup.hpp"
#include "job/together_cases.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::job {
namespace {

using test::contribution;
using test::kNumbers;
using test::TogetherCase;
using Vector = std::vector<std::uint64_t>;

class OneProcess : public testing::TestWithParam<TogetherCase> {};
TEST_P(OneProcess, KeepsThePromise) { test::expect_kept(GetParam(), *comm::single_process()); }

class ThreadSites : public testing::TestWithParam<std::tuple<TogetherCase, int>> {};
TEST_P(ThreadSites, KeepThePromise) {
  const auto& [promise, sites] = GetParam();
  test::run_thread_ranks(sites,
                         [&promise = promise](comm::HostComm& comm) { test::expect_kept(promise, comm); });
}

TEST_P(ThreadSites, KeepItThroughTheCoordinator) {
  const auto& [promise, sites] = GetParam();
  test::run_thread_ranks(sites, [&promise = promise](comm::HostComm& comm) {
    const auto inner = make_together(comm);
    test::HubTogether hub(*inner);
    promise.body(hub);
  });
}

std::string name_with_sites(const testing::TestParamInfo<ThreadSites::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Cases, OneProcess, testing::ValuesIn(test::together_cases()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });
INSTANTIATE_TEST_SUITE_P(Cases, ThreadSites,
                         testing::Combine(testing::ValuesIn(test::together_cases()),
                                          testing::Values(1, 2, 3, 4)),
                         name_with_sites);

TEST(Together, ACoordinatorThatCutsMessagesOffIsFoundOut) {
  class Liar final : public Together {
   public:
    explicit Liar(std::string says) : says_(std::move(says)) {}
    int party() const override { return 1; }
    int parties() const override { return 2; }
    std::string from_coordinator(const std::string&) override { return says_; }
    std::vector<std::string> to_coordinator(const std::string&) override { return {}; }
    Vector sum_to_coordinator(Vector&&) override { return {}; }

   private:
    std::string says_;
  };
  const std::string empty_message(8, '\0');
  EXPECT_EQ(Liar(empty_message + empty_message).to_all("x"), (std::vector<std::string>{"", ""}));
  for (const std::string& said : {std::string(), empty_message, std::string(7, '\0'), empty_message + "\1",
                                  std::string(8, '\xff'), empty_message + empty_message + empty_message}) {
    test::expect_error(ExitCode::kProtocol, {"the coordinator sent"}, [&] { Liar(said).to_all("x"); });
  }
}

TEST(Together, OnWhichMachineASiteFailedTheOthersAreNotTold) {
  test::run_thread_ranks(3, [](comm::HostComm& comm) {
    const auto inner = make_together(comm);
    test::MeddledTogether t(*inner);
    int verdicts = 0;
    t.on_receive = [&](int, const std::vector<std::string>& all) {
      for (const std::string& text : all) {
        EXPECT_EQ(text.find(comm.host()), std::string::npos) << text;
        verdicts += text.find("cut off") != std::string::npos;
      }
    };
    test::expect_error(ExitCode::kData, {"cut off"}, [&] {
      t.agree("reading", true, [&] {
        if (t.party() == 2) throw DataError("the file is cut off");
      });
    });
    EXPECT_EQ(verdicts, 1);
  });
}

// Whoever changes messages can also hide from a site that the agreement failed, its own complaint included.
// The site goes on, but it has no keys, and sends nothing.
TEST(Meddling, ASiteWhoseComplaintIsSuppressedSendsNothing) {
  constexpr int kHellos = 1, kSignatures = 3;  // of the messages to all: verdicts come between
  test::run_thread_ranks(3, [](comm::HostComm& comm) {
    const auto inner = make_together(comm);
    test::MeddledTogether t(*inner);
    t.on_receive = [&](int which, std::vector<std::string>& all) {
      if (which == kHellos && t.coordinates()) all.at(1).at(16) ^= 1;  // another length
      if (which != kHellos && which != kSignatures) std::fill(all.begin(), all.end(), "");
    };
    Contributor own(test::round_of(3, true), t.party());
    agree_on_keys(own, t, nullptr);
    if (t.coordinates()) {
      EXPECT_EQ(own.state(), "failed");
      test::expect_error(ExitCode::kInvariant, {"failed", "nothing was sent"},
                         [&] { own.embed(embed::PartialSum(kNumbers)); });
    }
    EXPECT_TRUE(t.sent.empty());
  });
}

TEST(LostSite, AfterTheKeysEndsTheRoundWithNothingRevealed) {
  std::array<Vector, 3> masked;
  std::atomic<int> ended = 0;
  test::run_thread_ranks(4, [&](comm::HostComm& comm) {
    const auto inner = make_together(comm);
    test::MeddledTogether t(*inner);
    Contributor own(test::round_of(4, true), t.party());
    test::embed(own, t);
    if (t.party() == 3) return;  // lost after the keys were exchanged
    EXPECT_THROW(test::finish(own, t), CommError);
    ASSERT_EQ(t.sent.size(), 1u);
    masked[static_cast<std::size_t>(t.party())] = t.sent[0];
    ++ended;
  });
  ASSERT_EQ(ended, 3);
  // All that ever went out, added up, is still covered by the lost site's masks.
  Vector seen, hidden;
  for (int s = 0; s < 3; ++s) {
    test::add_to(seen, masked[static_cast<std::size_t>(s)]);
    test::add_to(hidden, contribution(s, kNumbers));
  }
  for (std::size_t i = 0; i < kNumbers; ++i) EXPECT_NE(seen[i], hidden[i]);
}

TEST(LostSite, ThatNeverComesIsNamedBeforeAnythingIsSent) {
  std::atomic<int> ended = 0;
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    if (comm.rank() == 1) return;
    Contributor own(test::round_of(3, true), comm.rank());
    test::expect_error(ExitCode::kPeer, {"rank 1"}, [&] { test::embed(own, *make_together(comm)); });
    ++ended;
  });
  EXPECT_EQ(ended, 2);
}

TEST(LostSite, LeavesNoSummandBehind) {
  test::run_thread_ranks(2, [](comm::HostComm& comm) {
    if (comm.rank() == 1) return;
    Vector mine(kNumbers, 7);
    EXPECT_THROW(make_together(comm)->sum_to_coordinator(std::move(mine)), CommError);
    EXPECT_EQ(mine, Vector(mine.size(), 0));  // NOLINT(bugprone-use-after-move): wiped
  });
}

}  // namespace
}  // namespace muffle::job
