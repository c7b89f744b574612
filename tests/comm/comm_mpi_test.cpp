// HostComm's promises over MPI, with messages of the usual length and with ones so short that everything is
// cut up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "comm/host_comm_cases.hpp"
#include "comm/mpi_comm.hpp"
#include "muffle/comm/launcher.hpp"
#include "support/mpi_world.hpp"

namespace muffle::comm {

/// Looks at what stays in the staging buffers.
struct TestAccess {
  static std::string staged(const MpiComm& comm) {
    std::string all;
    for (const auto* staging : {&comm.first_, &comm.second_}) {
      all.append(reinterpret_cast<const char*>(staging->bytes.get()), staging->capacity);
    }
    return all;
  }
};

namespace {

class MpiRanks : public testing::TestWithParam<std::tuple<test::HostCommCase, std::size_t>> {
 protected:
  /// Communicators are collective to make: one for each message length, kept for all the cases.
  static HostComm& with_messages_of(std::size_t bytes) {
    static std::map<std::size_t, std::unique_ptr<HostComm>> made;
    auto& comm = made[bytes];
    if (!comm)
      comm = test::session().world({.deadline = std::chrono::seconds(60), .max_message_bytes = bytes});
    return *comm;
  }
};

TEST_P(MpiRanks, KeepThePromise) {
  const auto& [promise, bytes] = GetParam();
  promise.body(with_messages_of(bytes));
}

INSTANTIATE_TEST_SUITE_P(Cases, MpiRanks,
                         testing::Combine(testing::ValuesIn(test::host_comm_cases()),
                                          testing::Values(MpiOptions{}.max_message_bytes, 64, 8)),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param).name) + "_messages_of_" +
                                  std::to_string(std::get<1>(parameter.param));
                         });

TEST(Mpi, OneSessionInAProcessThatALauncherStarted) {
  EXPECT_TRUE(launched_by_mpi());
  EXPECT_THROW(MpiSession(nullptr, nullptr), InvariantError);
}

TEST(Mpi, OptionsOutOfRangeAreRefusedBeforeAnythingIsSent) {
  constexpr std::chrono::milliseconds kNone{0}, kBack{-1};
  for (const MpiOptions& options :
       {MpiOptions{.deadline = kNone}, MpiOptions{.max_message_bytes = 7},
        MpiOptions{.max_message_bytes = std::size_t{1} << 31}, MpiOptions{.termination_grace = kBack}})
    EXPECT_THROW(test::session().world(options), ConfigError);
  test::world().barrier();
}

/// Longer than one message of the usual length, so that the product's own chunking is met too.
TEST(Mpi, ReduceLongerThanOneMessage) {
  HostComm& comm = test::world();
  const std::size_t length = MpiOptions{}.max_message_bytes / sizeof(std::uint64_t) + 3;
  std::vector<std::uint64_t> in(length), out(comm.is_root() ? length : 0);
  for (std::size_t i = 0; i < length; ++i)
    in[i] = i * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(comm.rank());
  comm.reduce_sum(in, out, 0);
  const auto n = static_cast<std::uint64_t>(comm.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], n * (i * 0x9E3779B97F4A7C15u) + n * (n - 1) / 2) << i;
  }
}

/// The reduce carries sums of private records. A broadcast, whose bytes are public, shows that the test would
/// see what stays.
TEST(Mpi, TheReduceLeavesNoSumsInTheStagingBuffers) {
  for (const std::size_t message : {MpiOptions{}.max_message_bytes, std::size_t{64}}) {
    const auto made =
        test::session().world({.deadline = std::chrono::seconds(60), .max_message_bytes = message});
    const auto& comm = dynamic_cast<const MpiComm&>(*made);
    const std::string needle(8, '\xA7');
    std::vector<std::byte> told(1000, std::byte{0xA7});
    made->broadcast(told, 0);
    ASSERT_NE(TestAccess::staged(comm).find(needle), std::string::npos);

    const std::vector<std::uint64_t> in(101, 0x1122334455667788u);
    std::vector<std::uint64_t> out(comm.is_root() ? in.size() : 0);
    made->reduce_sum(in, out, 0);
    const std::string staged = TestAccess::staged(comm).substr(0, std::min(message, in.size() * 8));
    EXPECT_EQ(staged, std::string(staged.size(), '\0'));
    for (const std::uint64_t private_sum : {in.back(), in.back() * static_cast<std::uint64_t>(comm.size())}) {
      const std::string bytes(reinterpret_cast<const char*>(&private_sum), 8);
      EXPECT_EQ(TestAccess::staged(comm).find(bytes), std::string::npos);
    }
    made->barrier();
  }
}

/// What is gathered on one rank must not cost the others' memory.
TEST(Mpi, AGatherBringsNobodysBytesToTheRanksThatAreNotItsRoot) {
  const auto made = test::session().world({.deadline = std::chrono::seconds(60)});
  const auto& comm = dynamic_cast<const MpiComm&>(*made);
  const auto text_of = [](int rank) { return std::string(5000, static_cast<char>('A' + rank)); };
  made->gather(text_of(comm.rank()), 0);
  const std::string staged = TestAccess::staged(comm);
  EXPECT_NE(staged.find(text_of(comm.rank())), std::string::npos);
  for (int r = 0; r < comm.size(); ++r) {
    if (r == comm.rank()) continue;
    EXPECT_EQ(staged.find(text_of(r)) != std::string::npos, comm.is_root()) << "rank " << r;
  }
  made->barrier();
}

}  // namespace
}  // namespace muffle::comm
