// Deadlines, questions and who is missing: decisions on a clock that the test moves.
#include "comm/attendance.hpp"

#include <gtest/gtest.h>

namespace muffle::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Ranks = std::vector<int>;

constexpr seconds kDeadline{60};
const Clock::time_point kStart = Clock::time_point(seconds(1000));

TEST(Attendance, NamesThoseThatHaveNotCome) {
  Attendance attendance(4, kDeadline);
  attendance.note(1, 7, kStart);
  attendance.note(2, 6, kStart);
  attendance.note(3, 6, kStart);
  const Missing missing = attendance.missing_from(7, 7, true, kStart + seconds(10));
  EXPECT_EQ(missing.ranks, (Ranks{2, 3}));
  EXPECT_EQ(missing.silence, seconds(10));
  EXPECT_TRUE(attendance.missing_from(6, 7, true, kStart + seconds(10)).ranks.empty())
      << "all have come to 6";
}

TEST(Attendance, ThoseThatWereNeverHeardOfHaveBeenSilentForADeadline) {
  const Missing missing = Attendance(3, kDeadline).missing_from(1, 1, true, kStart);
  EXPECT_EQ(missing.ranks, (Ranks{1, 2}));
  EXPECT_EQ(missing.silence, kDeadline);
}

TEST(Attendance, WorkOfOneRankDoesNotHideTheSilenceOfAnother) {
  Attendance attendance(4, kDeadline);
  for (int r = 1; r < 4; ++r) attendance.note(r, 6, kStart);
  attendance.note(1, 7, kStart);
  const auto now = kStart + seconds(40);
  attendance.note(2, 6, now);  // at work
  attendance.note(1, 7, now);  // asks
  const Missing missing = attendance.missing_from(7, 7, true, now);
  EXPECT_EQ(missing.ranks, (Ranks{3})) << "2 is at work";
  EXPECT_EQ(missing.silence, seconds(40));
}

TEST(Attendance, ARankThatCameAndFellSilentIsNamedToo) {
  Attendance attendance(3, kDeadline);
  attendance.note(1, 7, kStart);
  attendance.note(2, 7, kStart);
  attendance.note(1, 7, kStart + seconds(31));
  EXPECT_EQ(attendance.missing_from(7, 7, true, kStart + seconds(31)).ranks, (Ranks{2}));
}

TEST(Attendance, SilenceIsNeverLongerThanADeadline) {
  Attendance attendance(2, kDeadline);
  attendance.note(1, 6, kStart);
  EXPECT_EQ(attendance.missing_from(7, 7, true, kStart + seconds(1000)).silence, kDeadline);
}

TEST(Attendance, RankZeroNamesItselfOnlyIfNobodyElseIsMissing) {
  Attendance attendance(3, kDeadline);
  attendance.note(1, 7, kStart);
  attendance.note(2, 7, kStart);
  EXPECT_EQ(attendance.missing_from(7, 6, false, kStart).ranks, (Ranks{0}));
  attendance.note(1, 8, kStart);
  EXPECT_EQ(attendance.missing_from(8, 6, false, kStart).ranks, (Ranks{2}));
}

TEST(Attendance, WhereRankZeroIsHeldUpItNamesWhoHoldsItUp) {
  Attendance attendance(4, kDeadline);
  attendance.note(1, 8, kStart);
  attendance.note(2, 7, kStart);
  attendance.note(3, 6, kStart);
  EXPECT_EQ(attendance.missing_from(8, 7, true, kStart).ranks, (Ranks{3})) << "2 is where rank 0 is";
}

TEST(Attendance, AnOldMessageTakesNothingBack) {
  Attendance attendance(2, kDeadline);
  attendance.note(1, 8, kStart);
  attendance.note(1, 7, kStart + seconds(1));
  EXPECT_TRUE(attendance.missing_from(8, 8, true, kStart + seconds(1)).ranks.empty());
}

TEST(WaitOver, AtTheDeadline) {
  Wait wait;
  const Patience patience{kStart + kDeadline, milliseconds(300), seconds(60)};
  EXPECT_EQ(wait.over(kStart + kDeadline - milliseconds(1), patience, false, false), std::nullopt);
  EXPECT_EQ(wait.over(kStart + kDeadline, patience, false, false), Waited::kDeadline);
  Patience longer = patience;
  longer.until += seconds(5);
  EXPECT_EQ(wait.over(kStart + kDeadline, longer, false, false), std::nullopt)
      << "those at work are waited for";
}

TEST(WaitOver, SoonAfterAPeerHasGoneOrAStopWasAskedFor) {
  const Patience patience{kStart + kDeadline, milliseconds(300), seconds(20)};
  Wait loss;
  EXPECT_EQ(loss.over(kStart, patience, true, false), std::nullopt);
  EXPECT_EQ(loss.over(kStart + milliseconds(299), patience, false, false), std::nullopt);
  EXPECT_EQ(loss.over(kStart + milliseconds(300), patience, false, false), Waited::kPeerGone);
  Wait stop;
  EXPECT_EQ(stop.over(kStart, patience, false, true), std::nullopt);
  EXPECT_EQ(stop.over(kStart + seconds(19), patience, false, true), std::nullopt);
  EXPECT_EQ(stop.over(kStart + seconds(20), patience, false, true), Waited::kTermination);
  Wait both;  // the loss is the cause, and SIGTERM mpirun's answer to it
  EXPECT_EQ(both.over(kStart, patience, true, true), std::nullopt);
  EXPECT_EQ(both.over(kStart + seconds(20), patience, true, true), Waited::kPeerGone);
}

TEST(QuestionsDue, AfterNoticeThenRegularlyThenShortlyBeforeTheEnd) {
  Questions questions(kStart, kDeadline, seconds(3));
  const auto until = kStart + kDeadline;
  EXPECT_FALSE(questions.due(kStart + seconds(2), until));
  EXPECT_TRUE(questions.due(kStart + seconds(3), until));
  EXPECT_FALSE(questions.due(kStart + seconds(12), until));
  for (const int s : {13, 23, 33, 43, 53}) EXPECT_TRUE(questions.due(kStart + seconds(s), until)) << s;
  EXPECT_FALSE(questions.due(kStart + seconds(58), until));
  EXPECT_TRUE(questions.due(kStart + seconds(59), until));
}

TEST(QuestionsDue, NoLaterThanAThirdOfAShortDeadline) {
  Questions questions(kStart, milliseconds(900), seconds(3));
  EXPECT_FALSE(questions.due(kStart + milliseconds(299), kStart + milliseconds(900)));
  EXPECT_TRUE(questions.due(kStart + milliseconds(300), kStart + milliseconds(900)));
}

}  // namespace
}  // namespace muffle::comm
