#include "muffle/train/event_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>

#include "muffle/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::train {
namespace {

/// The checksums are those of tensorboard 2's masked_crc32c().
TEST(EventFile, RecordsHaveMaskedChecksums) {
  const std::string record = tf_record("muffle");
  ASSERT_EQ(record.size(), 8u + 4 + 6 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x06\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(8, 4), "\x73\x69\xd5\x37");
  EXPECT_EQ(record.substr(12, 6), "muffle");
  EXPECT_EQ(record.substr(18), "\xc3\x90\x6a\x3f");
}

/// The events of a file, taken apart at their records' lengths.
std::vector<std::string> events_in(const std::string& bytes) {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    events.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(tf_record(events.back()), bytes.substr(at, length + 16));
    at += length + 16;
  }
  return events;
}

TEST(EventFile, HoldsVersionAndScalars) {
  const test::TemporaryFolder folder;
  EventFile file(folder / "curves", "host", true, 299);
  file.add(300, {{"train/loss", 0.5}, {"x", -2}});
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(folder / "curves"), {}), 1);
  const auto path = std::filesystem::directory_iterator(folder / "curves")->path();
  EXPECT_THAT(path.filename().string(), ::testing::StartsWith("events.out.tfevents."));
  const std::vector<std::string> events = events_in(read_file(path));
  ASSERT_EQ(events.size(), 3u);
  // wall_time (1, double), then file_version (3).
  EXPECT_EQ(events[0].substr(9),
            "\x1a\x0d"
            "brain.Event:2");
  // wall_time, step (2) = 300, session_log (7) of status (1) START (1): drops this step's points and later
  // ones.
  EXPECT_EQ(events[1].substr(9), "\x10\xac\x02\x3a\x02\x08\x01");
  // wall_time, step (2) = 300, summary (5) of two values (1): tag (1), simple_value (2, float).
  const std::string loss = std::string("\x0a\x11\x0a\x0a") + "train/loss" + std::string("\x15\0\0\0\x3f", 5);
  const std::string x = std::string("\x0a\x08\x0a\x01x\x15\0\0\0\xc0", 10);
  EXPECT_EQ(events[2].substr(9), std::string("\x10\xac\x02\x2a\x1d") + loss + x);
}

// Under add/remove-one the time of day tells how long the release took, and so how many records there are.
TEST(EventFile, SaysTheDayAloneWhereTheTimeIsPrivate) {
  const test::TemporaryFolder folder;
  const double begun = static_cast<double>(std::time(nullptr));
  EventFile file(folder / "curves", "host", false, 299);
  file.add(300, {{"train/loss", 0.5}});
  file.add(400, {{"train/loss", 0.25}});
  const auto path = std::filesystem::directory_iterator(folder / "curves")->path();
  const std::string second = path.filename().string().substr(std::strlen("events.out.tfevents."), 10);
  const double day = std::stod(second) - 299;
  EXPECT_EQ(std::fmod(day, 86400), 0);
  EXPECT_LE(day, begun);
  EXPECT_GE(day, begun - 86400);
  std::vector<double> times;
  for (const std::string& event : events_in(read_file(path)))
    std::memcpy(&times.emplace_back(), event.data() + 1, sizeof(double));
  EXPECT_EQ(times, (std::vector{day + 299, day + 299, day + 300, day + 400}));
}

TEST(EventFile, WritesThroughNoLink) {
  const test::TemporaryFolder folder;
  {
    EventFile(folder / "curves", "host", false).add(1, {{"a", 1}});
  }  // the day alone: the next has this name
  const auto path = std::filesystem::directory_iterator(folder / "curves")->path();
  write_file_atomically(folder / "theirs", std::string_view("x"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder / "theirs", path);
  { EventFile(folder / "curves", "host", false).add(1, {{"a", 1}}); }
  EXPECT_EQ(read_file(folder / "theirs"), "x");
}

TEST(EventFile, AFolderThatCannotBeMadeEndsNothing) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "in-the-way", std::string_view("x"));
  EventFile file(folder / "in-the-way" / "curves", "host", true);
  file.add(1, {{"a", 1}});
}

}  // namespace
}  // namespace muffle::train
