#include "muffle/core/watchdog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace muffle {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Watchdog, NamesTheStepThatLastsTooLong) {
  std::promise<std::string> said;
  Watchdog dog(milliseconds(50), [&](const std::string& what) { said.set_value(what); });
  const std::filesystem::path quick = "/quick", stuck = "/data/stuck.idx";
  { const WatchedStep step("reading", quick); }
  const WatchedStep step("reading", stuck);
  auto heard = said.get_future();
  ASSERT_EQ(heard.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_THAT(heard.get(),
              ::testing::AllOf(::testing::HasSubstr("reading '/data/stuck.idx'"),
                               ::testing::HasSubstr("0.1 s"), ::testing::HasSubstr("runtime.deadline_s")));
}

TEST(Watchdog, LooksAfterEveryThread) {
  std::promise<std::string> said;
  Watchdog dog(seconds(600), [&](const std::string& what) { said.set_value(what); });
  std::promise<void> enough;
  const std::filesystem::path mine = "/mine", other = "/other";
  std::thread stuck([&] {
    const WatchedStep step("writing", other);
    enough.get_future().wait();
  });
  for (int i = 0; i < 1000; ++i) const WatchedStep step("reading", mine);
  dog.set_deadline(milliseconds(20));  // holds for a step that has begun
  auto heard = said.get_future();
  ASSERT_EQ(heard.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_THAT(heard.get(), ::testing::HasSubstr("writing '/other'"));
  enough.set_value();
  stuck.join();
}

TEST(Watchdog, NamesNoStepBeforeItsDeadlineNorAfterItsEnd) {
  using Clock = std::chrono::steady_clock;
  constexpr seconds kDeadline{60};
  const std::filesystem::path first = "/first", second = "/second";
  EXPECT_EQ(Watchdog::expired_step(Clock::now() + kDeadline, kDeadline), "") << "there is none";
  const auto before = Clock::now();
  {
    const WatchedStep step("reading", first), later("reading", second);
    const auto begun = Clock::now();
    EXPECT_EQ(Watchdog::expired_step(before + kDeadline - milliseconds(1), kDeadline), "");
    EXPECT_THAT(Watchdog::expired_step(begun + kDeadline, kDeadline),
                ::testing::HasSubstr("reading '/first'"));
  }
  EXPECT_EQ(Watchdog::expired_step(Clock::now() + kDeadline, kDeadline), "") << "both have ended";
}

}  // namespace
}  // namespace muffle
