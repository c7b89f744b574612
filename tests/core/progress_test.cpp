#include "muffle/core/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muffle {
namespace {

// Captured stderr is a file, so these see the plain form.

TEST(Progress, EndsWithOnePlainLineOfCountRateAndNote) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("embedding", 60000, "records", true);
    progress.update(30000);
    progress.update(60000, "loss 0.5");
    progress.finish();
    progress.finish();
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              ::testing::MatchesRegex(
                  "embedding: 60000/60000 records \\(100%\\), [0-9.e+]+ records/s, in [0-9]+s, loss 0.5\n"));
}

TEST(Progress, TheDestructorFinishesTheLine) {
  ::testing::internal::CaptureStderr();
  { Progress("training", 10, "steps", true).update(3); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("training: 3/10 steps (30%)"));
}

TEST(Progress, TheRateLeavesOutWhatWasDoneBefore) {
  ::testing::internal::CaptureStderr();
  { Progress("training", 1000, "steps", true, 700).update(700); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::StartsWith("training: 700/1000 steps (70%), 0 steps/s"));
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
