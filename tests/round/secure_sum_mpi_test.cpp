#include <gtest/gtest.h>

#include "secure_sum_cases.hpp"
#include "support/mpi_world.hpp"

namespace muffle::round {
namespace {

TEST(SecureSumMpiTest, SameBitsAsThePlainSum) {
  for (const std::size_t n : test::kLengths) test::expect_same_as_plain(test::world(), n, false);
}

TEST(SecureSumMpiTest, SameBitsWithEmptyShards) {
  for (const std::size_t n : test::kLengths) test::expect_same_as_plain(test::world(), n, true);
}

TEST(SecureSumMpiTest, SameBitsInSmallMessages) {
  const auto comm =
      test::session().world(comm::MpiOptions{.deadline = std::chrono::seconds(60), .max_message_bytes = 4096});
  test::expect_same_as_plain(*comm, 20000, false);
}

TEST(SecureSumMpiTest, DifferentLengthsEndOnAllRanksWithTheSameCode) {
  comm::HostComm& comm = test::world();
  if (comm.size() == 1) {
    EXPECT_NO_THROW(SecureSum(comm, {5, "case", nullptr}));
    return;
  }
  const std::size_t n = comm.rank() == comm.size() - 1 ? 6 : 5;
  EXPECT_THROW(SecureSum(comm, {n, "case", nullptr}), ProtocolError);
  test::expect_same_as_plain(comm, 5, false);  // the communicator lives on
}

}  // namespace
}  // namespace muffle::round
