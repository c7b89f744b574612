// float_text and threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "muffle/core/float_text.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/core/threads.hpp"

namespace muffle {
namespace {

TEST(ExactText, IsShortAndReadsBackAsTheSameNumber) {
  EXPECT_EQ(exact_text(0.1), "0.1");
  EXPECT_EQ(exact_text(1e-5), "1e-05");
  EXPECT_EQ(exact_text(std::nan("")), "nan");
  EXPECT_EQ(exact_text(-std::numeric_limits<double>::infinity()), "-inf");
  const CounterStream stream(8, Stream::kTest);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double v = std::exp(600.0 * (stream.uniform(i) - 0.5));
    EXPECT_EQ(std::strtod(exact_text(v).c_str(), nullptr), v);
  }
}

TEST(OwnedCores, IsAtLeastOneAndNeverGrowsWithTheProcesses) {
  const int alone = owned_cores(1);
  EXPECT_GE(alone, 1);
  EXPECT_LE(owned_cores(2), alone);
  EXPECT_EQ(owned_cores(1 << 20), 1);
  EXPECT_EQ(owned_cores(0), alone);
  EXPECT_EQ(owned_cores(1, 1 << 20), 1) << "shared with as many as there are";
  EXPECT_LE(owned_cores(1, 2), alone);
  if (core_quota() > 0) {
    EXPECT_LE(alone, std::max(1.0, core_quota()));
  }
  EXPECT_FALSE(affinity_mask().empty());
}

TEST(OwnedCores, AreNoMoreThanOmpNumThreadsSays) {
  const int all = owned_cores(1);
  using Case = std::pair<const char*, int>;
  for (const auto& [text, expected] : {Case{"1", 1}, Case{"1,4", 1}, Case{"100000", all}, Case{"", all},
                                       Case{"0", all}, Case{"many", all}}) {
    ASSERT_EQ(::setenv("OMP_NUM_THREADS", text, 1), 0);
    EXPECT_EQ(owned_cores(1), expected) << text;
  }
  ::unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace muffle
