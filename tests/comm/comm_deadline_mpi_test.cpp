// A rank that does not come: the others say so at the deadline. Needs at least 2 ranks. Every test breaks
// communicators of its own; the ranks meet again on world(). Who is missing, when a rank asks and when a wait
// is over are decided on a clock that tests move (attendance_test.cpp): here each way to end is seen once, on
// real time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "comm/mpi_comm.hpp"
#include "muffle/comm/detachment.hpp"
#include "muffle/comm/termination.hpp"
#include "support/mpi_world.hpp"

namespace muffle::comm {

/// abort() without the process's end.
struct TestAccess {
  static void say_farewell(HostComm& comm) { dynamic_cast<MpiComm&>(comm).say_farewell(ExitCode::kPeer); }
};

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr milliseconds kDeadline{1000};
// No upper bound on a busy machine is safe, but a wait that forgets its deadline lasts for ever.
constexpr std::chrono::seconds kFarBeyond{30};

std::unique_ptr<HostComm> short_lived() { return test::session().world({.deadline = kDeadline}); }

/// The message of the CommError with which a collective ends on this rank, long before kFarBeyond.
std::string failure_of(const std::function<void()>& collective) {
  const auto start = steady_clock::now();
  try {
    collective();
  } catch (const CommError& e) {
    EXPECT_EQ(e.code(), ExitCode::kPeer);
    EXPECT_LT(steady_clock::now() - start, kFarBeyond);
    return e.what();
  }
  return "(it went well)";
}

/// All ranks but `absent` call the collective; `absent` stays away until they have given up.
std::string failure_without(int absent, HostComm& comm, const std::function<void()>& collective) {
  std::string message;
  if (comm.rank() != absent) message = failure_of(collective);
  test::world().barrier();
  return message;
}

std::string named(int rank) { return "rank " + std::to_string(rank) + " (host "; }

TEST(Deadline, TheAbsentRankIsNamedByEveryOtherAndTheCommunicatorIsDead) {
  const int absent = test::world().size() - 1;
  const auto comm = short_lived();
  const std::string message = failure_without(absent, *comm, [&] { comm->barrier(); });
  if (comm->rank() == absent) return;
  EXPECT_THAT(message, HasSubstr("barrier (collective"));
  EXPECT_THAT(message, HasSubstr("within 1.0 s"));
  EXPECT_THAT(message, HasSubstr("on rank " + std::to_string(comm->rank())));
  EXPECT_THAT(message, HasSubstr("not heard from: " + named(absent)));
  EXPECT_THAT(message, HasSubstr("raise the deadline"));
  const auto missing = message.substr(message.find("not heard from"));
  for (int r = 0; r < comm->size(); ++r) {
    EXPECT_EQ(missing.find(named(r)) == std::string::npos, r != absent);
  }
  const double waited_s = comm->seconds_in_collectives();
  EXPECT_THAT(failure_of([&] { comm->all_gather("x"); }), HasSubstr("died earlier, in barrier"));
  EXPECT_EQ(comm->seconds_in_collectives(), waited_s) << "the dead do not wait";
}

TEST(Deadline, ARollCallNamesTheAbsentRankSooner) {
  // A rank that was heard of would be waited for as ever: none asks for this one before it is away.
  constexpr std::chrono::minutes kLong{3};
  const auto comm = test::session().world({.deadline = kLong, .notice_after = kLong});
  const int absent = comm->size() - 1;
  const std::string message = failure_without(absent, *comm, [&] { comm->roll_call(kDeadline); });
  if (comm->rank() == absent) return;
  EXPECT_THAT(message, HasSubstr("roll call (collective"));
  EXPECT_THAT(message, HasSubstr("not heard from: " + named(absent)));
}

// The others, which gave up first, are all there: only rank 0, which ended the job for it, knew who was
// missing.
TEST(Deadline, WhoComesLateSaysWhoEndedTheJob) {
  const auto comm = short_lived();
  const int late = comm->size() - 1;
  failure_without(late, *comm, [&] { comm->barrier(); });
  if (comm->is_root()) TestAccess::say_farewell(*comm);
  test::world().barrier();
  if (comm->rank() != late) return;
  const std::string message = failure_of([&] { comm->check_lost("working"); });
  EXPECT_THAT(message, HasSubstr("working on rank " + std::to_string(late)));
  EXPECT_THAT(message, HasSubstr(named(0)));
  EXPECT_THAT(message, HasSubstr("has ended the job with exit code 69"));
}

TEST(Deadline, SendersAndReceiversHaveOne) {
  const auto reduced = short_lived();
  const int absent = reduced->size() - 1;
  // Large enough that a sender cannot just leave it behind.
  std::vector<std::uint64_t> in(1 << 20, 1), out(reduced->is_root() ? in.size() : 0);
  const std::string sum = failure_without(absent, *reduced, [&] { reduced->reduce_sum(in, out, 0); });
  if (reduced->is_root()) {
    EXPECT_THAT(sum, HasSubstr(named(absent)));
  }
  const auto agreed = short_lived();
  const std::string verdict =
      failure_without(absent, *agreed, [&] { agree(*agreed, "the test", true, [] {}); });
  if (agreed->is_root()) {
    EXPECT_THAT(verdict, HasSubstr(named(absent)));
  }
  // A broadcast is waited for by those who receive; without rank 0, which keeps the roll call.
  const auto comm = short_lived();
  std::vector<std::byte> bytes(1 << 20);
  const std::string message = failure_without(0, *comm, [&] { comm->broadcast(bytes, 0); });
  if (!comm->is_root()) {
    EXPECT_THAT(message, HasSubstr(named(0)));
  }
}

TEST(Deadline, ALateResultNeverReachesTheCallersMemory) {
  const auto comm = short_lived();
  const int late = comm->size() - 1;
  std::vector<double> values(100'000, 1);
  if (comm->rank() != late) {
    EXPECT_THAT(failure_of([&] { comm->all_reduce_sum(std::span<double>(values)); }),
                HasSubstr("all_reduce_sum"));
    std::fill(values.begin(), values.end(), 7);
  }
  test::world().barrier();
  if (comm->rank() == late) {
    // The others' contributions are still what they were, or the wait fails: never what the memory was used
    // for since.
    try {
      comm->all_reduce_sum(std::span<double>(values));
      EXPECT_EQ(values, std::vector<double>(values.size(), comm->size()));
    } catch (const CommError&) {
    }
  }
  test::world().barrier();
  if (comm->rank() != late) {
    EXPECT_EQ(values, std::vector<double>(values.size(), 7));
  }
}

TEST(Deadline, SlowIsNotMissing) {
  const auto comm =
      test::session().world({.deadline = std::chrono::seconds(60), .notice_after = milliseconds(10)});
  for (int round = 0; round < 3; ++round) {
    if (comm->rank() == round % comm->size()) std::this_thread::sleep_for(milliseconds(100));
    comm->barrier();
    EXPECT_EQ(comm->all_gather(std::to_string(comm->rank())).back(), std::to_string(comm->size() - 1));
  }
}

/// Does something for so long, and shows that it gets on.
void work(HostComm& comm, milliseconds time) {
  const auto until = steady_clock::now() + time;
  while (steady_clock::now() < until) {
    comm.check_peers("working");
    std::this_thread::sleep_for(milliseconds(5));
  }
}

TEST(Deadline, BoundsSilenceAndNotWork) {
  constexpr milliseconds deadline = 2 * kDeadline;  // who works may be held up for nearly as long
  for (const int busy : {0, test::world().size() - 1}) {
    const auto comm = test::session().world({.deadline = deadline});
    if (comm->rank() == busy) work(*comm, deadline * 3 / 2);
    EXPECT_EQ(comm->all_gather("x").size(), static_cast<std::size_t>(comm->size())) << busy << " was busy";
    test::world().barrier();
  }
}

TEST(Termination, ACollectiveThatCannotFinishEndsSoonAfterSigterm) {
  const auto comm =
      test::session().world({.deadline = std::chrono::minutes(10), .stop_within = milliseconds(300)});
  install_termination_handler();
  const int absent = comm->size() - 1;
  const std::string message = failure_without(absent, *comm, [&] {
    ASSERT_EQ(std::raise(SIGTERM), 0);
    comm->barrier();
  });
  clear_termination_request();
  if (comm->rank() == absent) return;
  EXPECT_THAT(message, HasSubstr("told to stop (SIGTERM or SIGUSR1)"));
  EXPECT_THAT(message, HasSubstr("barrier"));
}

/// Works until it is told to stop; false if that never happens.
bool works_until_told(HostComm& comm) {
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < kFarBeyond) {
    try {
      comm.check_peers("embedding");
    } catch (const StoppedError& e) {
      EXPECT_THAT(e.what(), HasSubstr("while embedding"));
      return true;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

TEST(Termination, ASignalToOneRankThatWorksOrWaitsReachesAllThatWork) {
  install_termination_handler();
  for (const bool waits : {false, true}) {
    for (int told = 0; told < test::world().size(); ++told) {
      const auto comm = test::session().world({.deadline = std::chrono::seconds(60)});
      comm->check_peers("embedding");  // all is well
      test::world().barrier();         // for every rank, before one is told
      if (comm->rank() == told) {
        ASSERT_EQ(std::raise(waits ? SIGTERM : SIGUSR1), 0);
      }
      if (comm->rank() != told || !waits) {
        EXPECT_TRUE(works_until_told(*comm));
      }
      EXPECT_EQ(comm->all_gather("x").size(), static_cast<std::size_t>(comm->size())) << "it lives on";
      clear_termination_request();
      test::world().barrier();
    }
  }
}

/// All ranks but `absent` work.
std::vector<bool> all_but(int absent) {
  std::vector<bool> works(static_cast<std::size_t>(test::world().size()), true);
  works[static_cast<std::size_t>(absent)] = false;
  return works;
}

TEST(Detachment, ASignalToARankThatWaitsReachesThoseThatWork) {
  install_termination_handler();
  for (int told = 0; told < test::world().size(); ++told) {
    const auto comm = test::session().world({.deadline = std::chrono::seconds(60)});
    Detachment detachment(*comm, all_but(told));
    bool stopped = false;
    if (!detachment.works()) {
      ASSERT_EQ(std::raise(SIGTERM), 0);
    }
    detachment.run("training", [&](HostComm&, const Detachment::Heartbeat& heartbeat) {
      const auto start = steady_clock::now();
      while (!stopped && steady_clock::now() - start < kFarBeyond) {
        stopped = heartbeat();
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
    EXPECT_EQ(stopped, detachment.works());
    clear_termination_request();
    test::world().barrier();
  }
}

TEST(Detachment, ARankThatWasToldToStopWaitsForThoseThatWork) {
  install_termination_handler();
  const MpiOptions options{.deadline = std::chrono::seconds(60), .stop_within = milliseconds(100)};
  const auto comm = test::session().world(options);
  Detachment detachment(*comm, all_but(0));
  if (!detachment.works()) {
    ASSERT_EQ(std::raise(SIGTERM), 0);
  }
  EXPECT_NO_THROW(detachment.run("training", [&](HostComm&, const Detachment::Heartbeat& heartbeat) {
    EXPECT_TRUE(heartbeat(/*at_once=*/true));
    std::this_thread::sleep_for(5 * options.stop_within);  // a checkpoint is written
  }));
  clear_termination_request();
  test::world().barrier();
}

TEST(Detachment, LongPhasesAfterManyFastStepsHaveADeadlineEach) {
  const auto deadline = 3 * kDeadline;
  const auto comm = test::session().world({.deadline = deadline});
  Detachment detachment(*comm, all_but(0));
  EXPECT_NO_THROW(detachment.run("training", [&](HostComm& mine, const Detachment::Heartbeat& heartbeat) {
    for (int i = 0; i < 20'000; ++i) heartbeat();  // so fast that many of them fit between two meetings
    for (int phase = 0; phase < 3; ++phase) {      // together they last longer than the deadline
      heartbeat(/*at_once=*/true);
      std::this_thread::sleep_for(deadline * 2 / 5);
      mine.barrier();
    }
  }));
  test::world().barrier();
}

TEST(Detachment, RanksThatWaitNameTheOneThatHangs) {
  const auto comm = short_lived();
  const int hangs = comm->size() - 1;
  std::vector<bool> works(static_cast<std::size_t>(comm->size()), false);
  works.back() = true;
  Detachment detachment(*comm, works);
  // The one that hangs does not come to the meeting: it stays out of run().
  const std::string message = failure_without(hangs, *comm, [&] { detachment.run("training", {}); });
  if (comm->rank() == hangs) return;
  EXPECT_THAT(message, HasSubstr("not heard from: " + named(hangs)));
}

TEST(Termination, ACollectiveThatCanFinishDoes) {
  install_termination_handler();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_EQ(test::world().all_gather("x").size(), static_cast<std::size_t>(test::world().size()));
  clear_termination_request();
  test::world().barrier();
}

}  // namespace
}  // namespace muffle::comm
