// float_text and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "muffle/core/philox.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/text.hpp"

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

TEST(OwnedCores, AreSharedWithinTheMaskTheMachineAndTheLimit) {
  const CoreFacts idle{16, 16, 0, 0};
  EXPECT_EQ(owned_cores(idle, 1), 16);
  EXPECT_EQ(owned_cores(idle, 0), 16);
  EXPECT_EQ(owned_cores(idle, 3), 5);
  EXPECT_EQ(owned_cores(idle, 100), 1);
  EXPECT_EQ(owned_cores(idle, 1, 4), 4) << "three others have its mask";
  EXPECT_EQ(owned_cores({16, 4, 0, 0}, 4), 4) << "bound by a launcher, each rank to cores of its own";
  EXPECT_EQ(owned_cores({16, 4, 0, 0}, 2, 2), 2) << "in a container of four cores";
  EXPECT_EQ(owned_cores({16, 16, 6.5, 0}, 2), 3) << "a quota of six and a half";
  EXPECT_EQ(owned_cores({16, 16, 0.5, 0}, 1), 1);
  EXPECT_EQ(owned_cores({16, 16, 0, 2}, 1), 2) << "OMP_NUM_THREADS";
  EXPECT_EQ(owned_cores({16, 16, 0, 100}, 4), 4);
}

TEST(OwnedCores, OmpNumThreadsIsReadAsItsFirstNumber) {
  using Case = std::pair<const char*, int>;
  for (const auto& [text, expected] :
       {Case{"1", 1}, Case{"7,4", 7}, Case{"100000", 100000}, Case{"", 0}, Case{"0", 0}, Case{"many", 0}}) {
    ASSERT_EQ(::setenv("OMP_NUM_THREADS", text, 1), 0);
    EXPECT_EQ(core_facts().asked, expected) << text;
  }
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(core_facts().asked, 0);
  const CoreFacts here = core_facts();
  const std::string mask = affinity_mask();
  EXPECT_EQ(here.allowed, 1 + std::count(mask.begin(), mask.end(), ','));
  EXPECT_LE(here.allowed, here.online);
}

}  // namespace
}  // namespace muffle
