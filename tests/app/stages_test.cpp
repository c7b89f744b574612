// What a rerun keeps, and what config.resolved.toml says afterwards.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "app/run_folder.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StagesTest : public ::testing::Test {
 protected:
  StagesTest() {
    write("model.mfl", "a model");
    write("samples.npz", "samples");
    ensure_writable_folder(folder_ / "samples-png");
    write("samples-png/1.png", "one");
    write("samples-png/2.png", "two");
  }

  void write(const std::string& name, const std::string& text) {
    write_file_atomically(folder_ / name, text);
  }
  void sampled() { mark_done(*comm_, work_, {"samples.npz", "samples-png"}); }
  bool done() { return is_done(*comm_, work_); }

  test::TemporaryFolder folder_;
  std::unique_ptr<comm::HostComm> comm_ = comm::single_process();
  StageWork work_{"sample", "settings", PublicFile(folder_ / "model.mfl"), folder_.path()};
};

TEST_F(StagesTest, WhatIsAsItWasMadeIsKept) {
  EXPECT_FALSE(done());
  sampled();
  EXPECT_TRUE(done());
  EXPECT_TRUE(done());
}

TEST_F(StagesTest, OtherSettingsOrAnotherInputMeanOtherOutput) {
  sampled();
  work_.settings = "others";
  EXPECT_FALSE(done());
  work_.settings = "settings";
  EXPECT_TRUE(done());
  write("model.mfl", "another model");
  EXPECT_FALSE(done());
  std::filesystem::remove(folder_ / "model.mfl");
  EXPECT_FALSE(done()) << "the stage itself says that its input is missing";
}

TEST_F(StagesTest, OutputThatIsLostDamagedOrEditedIsNoticed) {
  const std::vector<std::function<void()>> accidents{
      [&] { std::filesystem::remove(folder_ / "samples.npz"); },
      [&] { write("samples.npz", "sampleZ"); },
      [&] { write("samples.npz", ""); },
      [&] { std::filesystem::remove(folder_ / "samples-png/2.png"); },
      [&] { write("samples-png/2.png", "TWO"); },
      [&] { write("samples-png/3.png", "three"); }};
  for (const auto& accident : accidents) {
    sampled();
    ASSERT_TRUE(done());
    accident();
    EXPECT_FALSE(done());
    write("samples.npz", "samples");
    write("samples-png/2.png", "two");
    std::filesystem::remove(folder_ / "samples-png/3.png");
  }
}

TEST_F(StagesTest, ADamagedListOfStagesMeansDoingThemAgain) {
  for (const char* text : {"", "{", "[]", "{\"format\": \"muffle-stages\", \"version\": 1, \"stages\": 3}",
                           "{\"format\": \"muffle-stages\", \"version\": 1, \"stages\": {\"sample\": {}}}"}) {
    write("stages.json", text);
    EXPECT_FALSE(done()) << text;
    sampled();
    EXPECT_TRUE(done()) << text;
  }
}

TEST_F(StagesTest, StagesDoNotForgetOneAnother) {
  sampled();
  StageWork other{"evaluate", "e", PublicFile(folder_ / "samples.npz"), folder_.path()};
  mark_done(*comm_, other, {});
  EXPECT_TRUE(done());
  EXPECT_TRUE(is_done(*comm_, other));
  // What reads something that may be records is not noted, and what an earlier muffle noted of it goes.
  other.input.reset();
  EXPECT_FALSE(is_done(*comm_, other));
  mark_done(*comm_, other, {"samples.npz"});
  EXPECT_FALSE(is_done(*comm_, other));
  EXPECT_THAT(read_file(folder_ / "stages.json"), Not(HasSubstr("evaluate")));
  EXPECT_TRUE(done());
}

class ResolvedSettings : public StagesTest {
 protected:
  std::string text() const { return read_file(folder_ / kConfigFile); }
  Context context_at(const std::filesystem::path& out, Config config = {}) {
    return {*comm_, std::move(config), out, 1, std::nullopt, false, false};
  }
  Context context_ = context_at(folder_.path());
};

// A job that was killed left files; the one that goes on, hours later, ends with them in its run folder.
TEST_F(ResolvedSettings, TimesOfOwnFilesAreRoundedWhateverTheirAge) {
  namespace fs = std::filesystem;
  const test::TemporaryFolder elsewhere;
  const std::time_t noon = std::time(nullptr) / 86400 * 86400 - 43200;
  /// Hours of the day at which the file was written and read.
  const auto hours = [&](const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(::lstat(file.c_str(), &info), 0);
    return std::pair(info.st_mtim.tv_sec % 86400 / 3600.0, info.st_atim.tv_sec % 86400 / 3600.0);
  };
  using Hours = std::pair<double, double>;
  ensure_writable_folder(folder_ / "logs");
  std::vector<fs::path> own, others;
  for (const char* name : {"release.mfl", "release.mfl.sig", "samples.npz", "samples-png/1.png",
                           "logs/rank-0.jsonl", "metrics.json"})
    own.push_back(folder_ / name);
  own.push_back(elsewhere / "ledger.jsonl");
  for (const auto& file :
       {folder_ / "records.idx", folder_ / "data.csv", elsewhere / "old", elsewhere / "new"})
    others.push_back(file);
  for (const auto& files : {own, others})
    for (const fs::path& file : files) write_file_atomically(file, "x");
  own.insert(own.end(), {folder_ / "samples-png", folder_ / "logs", folder_.path()});
  const auto at_noon = [&] {
    const timespec both[2] = {{noon, 0}, {noon, 0}};
    for (const auto& files : {own, others})
      for (const fs::path& file : files) ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), both, 0), 0);
  };
  context_.writes = {elsewhere / "ledger.jsonl"};
  context_.reads = {elsewhere / "old", elsewhere / "new"};
  at_noon();
  round_times(context_);
  for (const auto& files : {own, others})
    for (const fs::path& file : files) EXPECT_EQ(hours(file), Hours(12, 12)) << file << ": m is public";
  context_.m_is_private = true;
  const timespec read[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (elsewhere / "new").c_str(), read, 0), 0);
  round_times(context_);
  for (const fs::path& file : own) EXPECT_EQ(hours(file), Hours(0, 0)) << file;
  EXPECT_EQ(hours(elsewhere / "new"), Hours(12, 0)) << "read by this job";
  others.pop_back();
  for (const fs::path& file : others) EXPECT_EQ(hours(file), Hours(12, 12)) << file;
}

// A verb may be told nothing of the release that its files come of.
TEST_F(ResolvedSettings, SayThatMIsPrivate) {
  EXPECT_FALSE(m_is_private(context_));
  const test::TemporaryFolder elsewhere;
  context_.reads = {elsewhere / "samples.csv", elsewhere / kConfigFile};
  EXPECT_FALSE(m_is_private(context_));
  for (const auto& file : {elsewhere / kConfigFile, folder_ / kConfigFile}) {
    write_file_atomically(file, "[privacy]\nadjacency = \"replace-one\"\n");
    EXPECT_FALSE(m_is_private(context_)) << file;
    write_file_atomically(file, "[privacy]\nadjacency = \"add-remove-one\"\n");
    EXPECT_TRUE(m_is_private(context_)) << file;
    write_file_atomically(file, "[privacy\n");
    EXPECT_FALSE(m_is_private(context_)) << file;
  }
  context_.config.privacy.adjacency = privacy::Adjacency::kAddRemoveOne;
  EXPECT_TRUE(m_is_private(context_));
}

TEST_F(ResolvedSettings, AStageLeavesTheOthersSettingsAlone) {
  context_.config.privacy.epsilon = 0.25;
  context_.config.train.steps = 11;
  context_.config.ledger.data_id = "patients";
  record_settings(context_, Stage::kRelease);
  EXPECT_THAT(text(), HasSubstr("epsilon = 0.25"));
  EXPECT_THAT(text(), HasSubstr("id = \"patients\""));
  EXPECT_THAT(text(), Not(HasSubstr("steps = "))) << "nothing was trained";

  Context training = context_at(folder_.path());  // on another machine: it knows nothing of the release
  training.config.train.steps = 12;
  training.config.runtime.threads = 3;
  record_settings(training, Stage::kTrain);
  EXPECT_THAT(text(), HasSubstr("epsilon = 0.25"));
  EXPECT_THAT(text(), HasSubstr("id = \"patients\""));
  EXPECT_THAT(text(), HasSubstr("steps = 12"));
  EXPECT_THAT(text(), HasSubstr("threads = 3"));
  training.config.train.steps = 13;
  record_settings(training, Stage::kTrain);
  EXPECT_THAT(text(), HasSubstr("steps = 13"));
  EXPECT_THAT(text(), HasSubstr("epsilon = 0.25"));
}

TEST_F(ResolvedSettings, ALineThatIsNotUnderstoodCostsNoOther) {
  write(kConfigFile, "[privacy]\nepsilon = 0.25\ndelta = 7.0\nno_such_key = 1\n");
  record_settings(context_, Stage::kTrain);
  EXPECT_THAT(text(), HasSubstr("epsilon = 0.25"));
  EXPECT_THAT(text(), Not(HasSubstr("no_such_key")));
}

TEST_F(ResolvedSettings, AFileThatCannotBeReadIsWrittenAnew) {
  write(kConfigFile, "[train\n");
  record_settings(context_, Stage::kTrain);
  EXPECT_THAT(text(), HasSubstr("steps"));
}

TEST_F(ResolvedSettings, GeneratedRecordsDoNotDependOnHowTheRunFolderIsSpelt) {
  Config config;
  config.data.generate = "gaussian-mixture-2d";
  const Context relative = context_at("out/x", config), absolute = context_at("/somewhere/out/x", config);
  EXPECT_EQ(records_of(relative).dir, "out/x/data");
  EXPECT_EQ(records_of(absolute).dir, "/somewhere/out/x/data");
  EXPECT_EQ(stage_hash(relative.config, Stage::kRelease), stage_hash(absolute.config, Stage::kRelease));
}

}  // namespace
}  // namespace muffle::app
