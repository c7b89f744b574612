// HostComm's promises on ranks that are threads, and the thread ranks' own way of failing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "comm/host_comm_cases.hpp"
#include "support/thread_comm.hpp"

namespace muffle::test {
namespace {

using comm::HostComm;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

class ThreadRanks : public testing::TestWithParam<std::tuple<HostCommCase, int>> {};

TEST_P(ThreadRanks, KeepThePromise) {
  const auto& [promise, ranks] = GetParam();
  run_thread_ranks(ranks, promise.body);
}

INSTANTIATE_TEST_SUITE_P(Cases, ThreadRanks,
                         testing::Combine(testing::ValuesIn(host_comm_cases()), testing::Values(1, 2, 3, 4)),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param).name) + "_np" +
                                  std::to_string(std::get<1>(parameter.param));
                         });

/// The CommError of each rank that threw one; `body` runs on three ranks.
std::vector<std::string> comm_errors(const std::function<void(HostComm&)>& body, milliseconds deadline) {
  std::vector<std::string> errors(3);
  run_thread_ranks(
      3,
      [&](HostComm& comm) {
        try {
          body(comm);
        } catch (const CommError& e) {
          errors[static_cast<std::size_t>(comm.rank())] = e.what();
        }
      },
      deadline);
  return errors;
}

TEST(ThreadRankFaults, ALateRankIsNamedAtTheDeadlineAndTheGroupIsDead) {
  std::atomic<int> died_again{0};
  std::atomic<bool> others_gave_up{false};
  const auto errors = comm_errors(
      [&](HostComm& comm) {
        if (comm.rank() == 1) {
          while (!others_gave_up) std::this_thread::sleep_for(milliseconds(1));
          comm.barrier();
          return;
        }
        const auto start = steady_clock::now();
        EXPECT_THROW(comm.barrier(), CommError);
        EXPECT_LT(steady_clock::now() - start, milliseconds(30'000));
        if (++died_again == 2) others_gave_up = true;
        comm.barrier();
      },
      milliseconds(3000));
  for (const auto& message : errors) {
    EXPECT_THAT(message, HasSubstr("for want of rank 1"));
    EXPECT_THAT(message, HasSubstr("deadline"));
  }
}

TEST(ThreadRankFaults, TheFirstFailureIsRethrownNotWhatItCaused) {
  EXPECT_THROW(run_thread_ranks(3,
                                [](HostComm& comm) {
                                  if (comm.rank() == 1) throw DataError("the cause");
                                  comm.barrier();
                                }),
               DataError);
}

TEST(ThreadRankFaults, AbortCarriesItsCode) {
  try {
    run_thread_ranks(2, [](HostComm& comm) {
      if (comm.rank() == 0) comm.abort(ExitCode::kBudget);
      comm.barrier();
    });
    FAIL() << "abort returned";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kBudget);
  }
}

TEST(ThreadRankFaults, AgreeKeepsTheOwnFailureWhenTheOthersAreGone) {
  EXPECT_THROW(run_thread_ranks(2,
                                [](HostComm& comm) {
                                  if (comm.rank() == 1) return;
                                  comm::agree(comm, "a step", true, [] { throw DataError("mine"); });
                                }),
               DataError);
}

}  // namespace
}  // namespace muffle::test
