// The communicator of one process, and the SIGTERM flag.
#include <gtest/gtest.h>

#include <csignal>

#include "comm/host_comm_cases.hpp"
#include "muffle/comm/termination.hpp"
#include "support/expect_error.hpp"

namespace muffle::comm {
namespace {

class SingleProcess : public testing::TestWithParam<test::HostCommCase> {};

TEST_P(SingleProcess, KeepsThePromise) { GetParam().body(*single_process()); }

INSTANTIATE_TEST_SUITE_P(Cases, SingleProcess, testing::ValuesIn(test::host_comm_cases()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(SingleProcessAbort, EndsWithTheCode) {
  EXPECT_EXIT(single_process()->abort(ExitCode::kBudget), testing::ExitedWithCode(77), "");
}

TEST(SingleProcessErrors, OutputOfAnotherLengthIsRefused) {
  std::vector<std::uint64_t> in(3), out(2);
  EXPECT_THROW(single_process()->reduce_sum(in, out, 0), InvariantError);
}

TEST(Termination, ASignalSetsTheFlagAndTheProcessGoesOn) {
  install_termination_handler();
  for (const int signal : {SIGTERM, SIGUSR1}) {
    EXPECT_FALSE(termination_requested());
    ASSERT_EQ(std::raise(signal), 0);
    EXPECT_TRUE(termination_requested());
    const auto comm = single_process();
    test::expect_error(ExitCode::kStopped, {"while embedding", "same command again"},
                       [&] { comm->check_peers("embedding"); });
    clear_termination_request();
    comm->check_peers("embedding");
  }
}

TEST(Termination, IsFoundAfterAHold) {
  install_termination_handler();
  {
    const TerminationHold outer;
    const TerminationHold inner;
    ASSERT_EQ(std::raise(SIGTERM), 0);
    EXPECT_FALSE(termination_requested());
    single_process()->check_peers("charging");
  }
  EXPECT_TRUE(termination_requested());
  clear_termination_request();
}

TEST(TerminationDeathTest, WorkThatWouldNotLookIsEnded) {
  const auto told = [] {
    install_termination_handler();
    end_on_termination();
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(told(), testing::KilledBySignal(SIGTERM), "");
}

TEST(TerminationDeathTest, AProcessThatIsAbortingEndsWithItsOwnCode) {
  const auto later = [] {
    install_termination_handler();
    exit_on_termination(69);
    std::raise(SIGTERM);
  };
  const auto earlier = [] {
    install_termination_handler();
    std::raise(SIGTERM);
    exit_on_termination(69);
  };
  EXPECT_EXIT(later(), testing::ExitedWithCode(69), "");
  EXPECT_EXIT(earlier(), testing::ExitedWithCode(69), "");
}

}  // namespace
}  // namespace muffle::comm
