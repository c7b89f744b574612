#include "muffle/core/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace muffle {
namespace {

// Captured stderr is a file, so these see the plain form.

TEST(Progress, EndsWithOnePlainLineOfCountRateAndNote) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("embedding", 60000, "records", true);
    progress.update(30000);
    progress.update(60000, "loss 0.5");
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              ::testing::MatchesRegex(
                  "embedding: 60000/60000 records \\(100%\\), [0-9.e+]+ records/s, in [0-9]+s, loss 0.5\n"));
}

TEST(Progress, ShowsTheTimeLeftEveryFewSeconds) {
  using namespace std::chrono_literals;
  Progress::Clock::time_point now{};
  ::testing::internal::CaptureStderr();
  {
    Progress progress("training", 1000, "steps", true, 400, [&] { return now; });
    const auto after = [&](auto time, std::uint64_t done) {
      now = Progress::Clock::time_point{} + time;
      progress.update(done);
    };
    after(4s, 402);    // too early for a line
    after(6s, 403);    // half a step a second
    after(7s, 410);    // too early again
    after(100s, 600);  // two steps a second
    after(110s, 1000);
    after(2h, 1000);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "training: 403/1000 steps (40%), 0.5 steps/s, 19m54s left\n"
            "training: 600/1000 steps (60%), 2 steps/s, 3m20s left\n"
            "training: 1000/1000 steps (100%), 5.455 steps/s, 0s left\n"
            "training: 1000/1000 steps (100%), 0.08333 steps/s, 0s left\n"
            "training: 1000/1000 steps (100%), 0.08333 steps/s, in 2h00m\n");
}

TEST(Progress, OfAnUnknownTotalItShowsWhatIsDone) {
  using namespace std::chrono_literals;
  Progress::Clock::time_point now{};
  ::testing::internal::CaptureStderr();
  {
    Progress progress("fitting", Progress::kNoTotal, "steps", true, 0, [&] { return now; });
    now += 6s;
    progress.update(1);
    now += 60s;
    progress.update(2);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "fitting: 1 steps, in 6s\nfitting: 2 steps, in 1m06s\nfitting: 2 steps, in 1m06s\n");
}

TEST(Progress, TheDestructorFinishesTheLine) {
  ::testing::internal::CaptureStderr();
  { Progress("training", 10, "steps", true).update(3); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("training: 3/10 steps (30%)"));
}

TEST(Progress, SaysNothingWhenDisabled) {
  ::testing::internal::CaptureStderr();
  { Progress("training", 10, "steps", false).update(10); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, AnEmptyTaskIsDone) {
  ::testing::internal::CaptureStderr();
  { Progress progress("embedding", 0, "records", true); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::StartsWith("embedding: 0/0 records (100%)"));
}

}  // namespace
}  // namespace muffle
