#include <gtest/gtest.h>

#include "job/together_cases.hpp"
#include "support/mpi_world.hpp"

namespace muffle::job {
namespace {

class MpiRanks : public testing::TestWithParam<test::TogetherCase> {};

TEST_P(MpiRanks, KeepThePromise) { test::expect_kept(GetParam(), test::world()); }

TEST_P(MpiRanks, KeepItInSmallMessages) {
  static const auto comm =
      test::session().world(comm::MpiOptions{.deadline = std::chrono::seconds(60), .max_message_bytes = 64});
  test::expect_kept(GetParam(), *comm);
}

INSTANTIATE_TEST_SUITE_P(Cases, MpiRanks, testing::ValuesIn(test::together_cases()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace muffle::job
