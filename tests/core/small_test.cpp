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

TEST(RoundedText, NeverStepsToTheOtherSide) {
  EXPECT_EQ(rounded_up_text(0.72551001, 4), "0.7256");
  EXPECT_EQ(rounded_down_text(3.73063163482, 10), "3.730631634");
  EXPECT_EQ(rounded_up_text(1.0, 4), "1");
  EXPECT_EQ(rounded_up_text(0.1, 4), "0.1");
  EXPECT_EQ(rounded_up_text(1e-5, 4), "1e-05");
  EXPECT_EQ(rounded_up_text(std::nextafter(1.0, 2.0), 4), "1.001");
  EXPECT_EQ(rounded_down_text(std::nextafter(1.0, 0.0), 4), "0.9999");
  EXPECT_EQ(rounded_up_text(12345.0, 3), "12345") << "no fewer digits than the whole part has";
  EXPECT_EQ(rounded_up_text(std::nan(""), 4), "nan");
  const CounterStream stream(9, Stream::kTest);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const double v = std::exp(40.0 * (stream.uniform(i) - 0.6));
    const double up = std::strtod(rounded_up_text(v, 6).c_str(), nullptr),
                 down = std::strtod(rounded_down_text(v, 6).c_str(), nullptr);
    ASSERT_GE(up, v);
    ASSERT_LE(down, v);
    ASSERT_LE(up - down, 1.0001e-5 * v + (v > 1e5 ? 1.0 : 0.0));
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
