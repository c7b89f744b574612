#include "muffle/core/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle {
namespace {

/// Each test gets the default logger back, and no file of a folder that is gone.
class Log : public ::testing::Test {
 protected:
  ~Log() override { set_up_logging({}); }

  std::vector<nlohmann::json> lines(int rank) const {
    spdlog::default_logger()->flush();
    std::istringstream in(read_file(folder_ / ("rank-" + std::to_string(rank) + ".jsonl")));
    std::vector<nlohmann::json> out;
    for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Log, EveryLineIsOneJsonObjectWhateverTheMessage) {
  const std::vector<std::string> messages{"plain",
                                          "quote \" and back\\slash",
                                          "two\nlines\tand a tab",
                                          "100 % {} %v",
                                          "broken utf-8 \xC3(",
                                          "Zoë",
                                          ""};
  ::testing::internal::CaptureStderr();
  set_up_logging({.rank = 0, .host = "a \"host\"", .folder = folder_.path(), .verbosity = 0});
  for (const std::string& m : messages) spdlog::info("{}", m);
  spdlog::warn("careful");
  ::testing::internal::GetCapturedStderr();
  const auto got = lines(0);
  ASSERT_EQ(got.size(), messages.size() + 1);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(got[i].at("level"), "info");
    EXPECT_EQ(got[i].at("rank"), 0);
    EXPECT_EQ(got[i].at("host"), "a \"host\"");
    EXPECT_TRUE(got[i].at("pid").is_number_integer());
    EXPECT_TRUE(got[i].at("time").is_string());
    const bool valid_utf8 = messages[i].find("\xC3(") == std::string::npos;
    EXPECT_EQ(got[i].at("message"), valid_utf8 ? messages[i] : "broken utf-8 \uFFFD(");
  }
  EXPECT_EQ(got.back().at("level"), "warning");
}

TEST_F(Log, AHostThatIsNoUtf8DoesNotEndTheJob) {
  ::testing::internal::CaptureStderr();
  set_up_logging({.rank = 0, .host = "h\xC3(", .folder = folder_.path(), .verbosity = 0});
  spdlog::info("x");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines(0).at(0).at("host"), "h\uFFFD(");
}

TEST_F(Log, AFileThatCannotBeOpenedIsAnIoError) {
  std::filesystem::create_directory(folder_.path() / "rank-0.jsonl");
  test::expect_error(ExitCode::kIo, {"rank-0.jsonl"}, [&] {
    set_up_logging({.rank = 0, .host = "a", .folder = folder_.path(), .verbosity = 0});
  });
}

TEST_F(Log, WritesThroughNoLink) {
  write_file_atomically(folder_ / "theirs", "x");
  std::filesystem::create_symlink(folder_ / "theirs", folder_ / log_file_name(0));
  test::expect_error(ExitCode::kIo, {"rank-0.jsonl", "link"}, [&] {
    set_up_logging({.rank = 0, .host = "a", .folder = folder_.path(), .verbosity = 0});
  });
  log_local("record 7");
  EXPECT_EQ(read_file(folder_ / "theirs"), "x");
}

TEST_F(Log, OnlyRankZeroTalksAndEveryRankWritesItsFile) {
  ::testing::internal::CaptureStderr();
  set_up_logging({.rank = 2, .host = "h", .folder = folder_.path(), .verbosity = 0});
  spdlog::info("quiet");
  spdlog::error("loud");
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("quiet"), std::string::npos);
  EXPECT_NE(shown.find("muffle (rank 2 on h): loud"), std::string::npos) << shown;
  const auto got = lines(2);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].at("message"), "quiet");
  EXPECT_EQ(got[1].at("rank"), 2);
}

TEST_F(Log, VerbosityChoosesWhatRankZeroShows) {
  const auto shown = [&](int verbosity) {
    ::testing::internal::CaptureStderr();
    set_up_logging({.rank = 0, .host = "h", .folder = {}, .verbosity = verbosity});
    spdlog::error("E1");
    spdlog::info("I1");
    spdlog::debug("D1");
    spdlog::trace("T1");
    std::string letters;
    const std::string text = ::testing::internal::GetCapturedStderr();
    for (const char c : {'E', 'I', 'D', 'T'}) {
      if (text.find(std::string(1, c) + "1") != std::string::npos) letters += c;
    }
    return letters;
  };
  EXPECT_EQ(shown(-1), "E");
  EXPECT_EQ(shown(0), "EI");
  EXPECT_EQ(shown(1), "EID");
  EXPECT_EQ(shown(2), "EIDT");
}

TEST_F(Log, WhatIsLocalGoesToTheOwnFileOnly) {
  ::testing::internal::CaptureStderr();
  log_local("before there is a file: nowhere");
  set_up_logging({.rank = 1, .host = "h", .folder = folder_.path(), .verbosity = 2});
  log_local("record 7 {}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  const auto got = lines(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].at("message"), "record 7 {}");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder_ / log_file_name(1)).permissions(),
            perms::owner_read | perms::owner_write);
  set_up_logging({});
  log_local("and not to a file that was left");
  EXPECT_EQ(lines(1).size(), 1u);
}

TEST_F(Log, NotesAreNoErrorsAndAreSaidOnce) {
  set_up_logging({.rank = 1, .host = "h", .folder = folder_.path(), .verbosity = 2});
  for (int round = 0; round < 3; ++round) note_local("3 fields did not fit");
  note_local("4 fields did not fit");
  auto got = lines(1);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].at("level"), "warning");
  EXPECT_EQ(got[1].at("message"), "4 fields did not fit");
  set_up_logging({.rank = 1, .host = "h", .folder = folder_.path(), .verbosity = 2});
  note_local("3 fields did not fit");
  EXPECT_EQ(lines(1).size(), 3u) << "the next job says it again";
}

TEST_F(Log, AnUnwritableFolderIsAnIoError) {
  write_file_atomically(folder_ / "file", "x");
  test::expect_error(ExitCode::kIo, {"file/logs"}, [&] {
    set_up_logging({.rank = 0, .host = "h", .folder = folder_ / "file/logs", .verbosity = 0});
  });
}

}  // namespace
}  // namespace muffle
