// agree(): one rank's failure ends a step on all ranks, on every backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "comm/host_comm_cases.hpp"
#include "muffle/core/error.hpp"

namespace muffle::test {
namespace {

using comm::HostComm;
using testing::HasSubstr;
using testing::Not;

/// The Error that agree() threw on this rank.
struct Thrown {
  ExitCode code = ExitCode::kDone;
  std::string message;
  bool quiet = false;
};

Thrown thrown_by_agree(HostComm& comm, const std::function<void()>& step, bool share) {
  try {
    comm::agree(comm, "reading the shards", share, step);
  } catch (const Error& e) {
    return {e.code(), e.what(), e.quiet()};
  }
  return {};
}

void agree_returns_when_all_is_well(HostComm& comm) {
  int calls = 0;
  comm::agree(comm, "a step", true, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

void agree_tells_everybody_about_one_failure(HostComm& comm) {
  for (const int failing : {0, comm.size() - 1}) {
    for (const bool share : {true, false}) {
      const auto step = [&] {
        if (comm.rank() == failing) throw DataError("shard.idx does not fit the schema");
      };
      const Thrown thrown = thrown_by_agree(comm, step, share);
      EXPECT_EQ(thrown.code, ExitCode::kData);
      EXPECT_EQ(thrown.quiet, !comm.is_root()) << "rank 0 speaks for all";
      if (comm.rank() == failing) {
        EXPECT_EQ(thrown.message, "shard.idx does not fit the schema");
        continue;
      }
      EXPECT_THAT(thrown.message, HasSubstr("reading the shards failed on rank " + std::to_string(failing)));
      EXPECT_THAT(thrown.message, HasSubstr("host " + comm.host()));
      EXPECT_THAT(thrown.message, HasSubstr("does not fit"));
      EXPECT_THAT(thrown.message, Not(HasSubstr("own log")));
    }
  }
  comm.barrier();  // an agreed failure leaves the communicator alive
}

void agree_keeps_local_details_on_their_rank(HostComm& comm) {
  for (const int failing : {0, comm.size() - 1}) {
    const auto step = [&] {
      if (comm.rank() == failing) throw DataError("shard.idx is bad.", LocalDetail{"record 7"});
    };
    const Thrown thrown = thrown_by_agree(comm, step, true);
    EXPECT_EQ(thrown.code, ExitCode::kData);
    EXPECT_THAT(thrown.message, HasSubstr("shard.idx is bad."));
    EXPECT_THAT(thrown.message, HasSubstr("logs/rank-" + std::to_string(failing) + ".jsonl"));
    EXPECT_THAT(thrown.message, Not(HasSubstr("record 7"))) << "also on the failing rank: mpirun shows it";
  }
  // What an exception that nobody has vetted says about private records may be anything.
  const int failing = comm.size() - 1;
  const auto foreign = [&] {
    if (comm.rank() == failing) throw std::out_of_range("record 7");
  };
  const Thrown thrown = thrown_by_agree(comm, foreign, false);
  EXPECT_EQ(thrown.code, ExitCode::kInternal);
  EXPECT_THAT(thrown.message, Not(HasSubstr("record 7")));
  EXPECT_THAT(thrown.message, HasSubstr("logs/rank-" + std::to_string(failing) + ".jsonl"));
}

void agree_throws_the_class_that_fits_the_code(HostComm& comm) {
  const int failing = comm.size() - 1;
  const auto fails_with = [&](auto error) {
    return [&comm, failing, error] {
      if (comm.rank() == failing) throw error;
    };
  };
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(UsageError("e"))), UsageError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(DataError("e"))), DataError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(CommError("e"))), CommError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(InvariantError("e"))), InvariantError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(IoError("e"))), IoError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(ProtocolError("e"))), ProtocolError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(PrivacyError("e"))), PrivacyError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(ConfigError("e"))), ConfigError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(DeviceError("e"))), DeviceError);
  EXPECT_THROW(comm::agree(comm, "s", true, fails_with(ErrorOf<ExitCode::kStopped>("e"))),
               ErrorOf<ExitCode::kStopped>);
}

void agree_goes_by_the_lowest_failing_rank(HostComm& comm) {
  // Rank 0 is well unless it is alone; the others fail, with different codes.
  const int lowest = std::min(1, comm.size() - 1);
  const auto step = [&] {
    if (comm.rank() == lowest) throw IoError("disk of rank " + std::to_string(lowest));
    if (comm.rank() > lowest) throw ConfigError("key of rank " + std::to_string(comm.rank()));
  };
  const Thrown thrown = thrown_by_agree(comm, step, true);
  EXPECT_EQ(thrown.code, ExitCode::kIo);
  EXPECT_THAT(thrown.message, HasSubstr("disk of rank " + std::to_string(lowest)));
  if (comm.rank() > lowest) {
    EXPECT_THAT(thrown.message, HasSubstr("key of rank " + std::to_string(comm.rank())))
        << "its own failure, too";
  }
}

void agree_when_all_fail_alike_gives_each_its_own(HostComm& comm) {
  const auto mine = "bad file " + std::to_string(comm.rank());
  const Thrown thrown = thrown_by_agree(
      comm, [&] { throw DataError(mine); }, false);
  EXPECT_EQ(thrown.code, ExitCode::kData);
  EXPECT_EQ(thrown.message, mine);
}

void agree_takes_foreign_exceptions_for_internal_errors(HostComm& comm) {
  const int failing = comm.size() - 1;
  const auto standard = [&] {
    if (comm.rank() == failing) throw std::out_of_range("vector::at");
  };
  Thrown thrown = thrown_by_agree(comm, standard, true);
  EXPECT_EQ(thrown.code, ExitCode::kInternal);
  EXPECT_THAT(thrown.message, HasSubstr("vector::at"));
  EXPECT_THAT(thrown.message, HasSubstr("reading the shards"));
  const auto unknown = [&] {
    if (comm.rank() == failing) throw 42;
  };
  EXPECT_EQ(thrown_by_agree(comm, unknown, true).code, ExitCode::kInternal);
  const auto done = [&] {
    if (comm.rank() == failing) throw Error(ExitCode::kDone, "an error that calls itself success");
  };
  if (comm.rank() != failing) {
    EXPECT_EQ(thrown_by_agree(comm, done, true).code, ExitCode::kInternal);
  } else {
    EXPECT_THROW(comm::agree(comm, "s", true, done), Error);
  }
}

}  // namespace

const std::vector<HostCommCase>& agreement_cases() {
#define MUFFLE_CASE(body) \
  { #body, body }
  static const std::vector<HostCommCase> cases{
      MUFFLE_CASE(agree_returns_when_all_is_well),
      MUFFLE_CASE(agree_tells_everybody_about_one_failure),
      MUFFLE_CASE(agree_keeps_local_details_on_their_rank),
      MUFFLE_CASE(agree_throws_the_class_that_fits_the_code),
      MUFFLE_CASE(agree_goes_by_the_lowest_failing_rank),
      MUFFLE_CASE(agree_when_all_fail_alike_gives_each_its_own),
      MUFFLE_CASE(agree_takes_foreign_exceptions_for_internal_errors),
  };
#undef MUFFLE_CASE
  return cases;
}

}  // namespace muffle::test
