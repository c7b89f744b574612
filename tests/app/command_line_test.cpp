#include "app/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "muffle/cluster/doctor.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// CommandLine cannot be moved: its options point into it.
std::unique_ptr<CommandLine> parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "muffle");
  auto line = std::make_unique<CommandLine>();
  line->parse(static_cast<int>(words.size()), words.data());
  return line;
}

std::string flag(const CommandLine& line, const std::string& key) {
  for (const auto& [name, value] : line.sources.flags) {
    if (name == key) return value;
  }
  return "(none)";
}

TEST(CommandLineTest, ATypedPathIsRelativeToTheFolderThatOneIsIn) {
  const std::string here = std::filesystem::current_path().string();
  const auto line = parsed({"release", "--out", "o", "--data", "x.idx", "--labels", "/abs/./y.idx"});
  EXPECT_EQ(flag(*line, "data.features"), here + "/x.idx");
  EXPECT_EQ(flag(*line, "data.labels"), "/abs/y.idx");
  // data.dir is not put in front of it.
  data::DataSpec spec;
  spec.dir = "/elsewhere";
  EXPECT_EQ(data::resolve_path(spec, flag(*line, "data.features"), 0), here + "/x.idx");
  EXPECT_EQ(flag(*parsed({"release", "--out", "o", "--labels", ""}), "data.labels"), "");
  const auto shards = parsed({"release", "--out", "o", "--data", "x-{rank}.idx"});
  EXPECT_EQ(flag(*shards, "data.features"), here + "/x-{rank}.idx");
  EXPECT_EQ(flag(*shards, "data.shards"), "per-rank");
  // A comma may also be part of a name.
  test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a,b");
  write_file_atomically(folder / "x,0.idx", "");
  for (const char* name : {"a,b/x-{rank}.idx", "x,{rank}.idx", "x,0.idx"}) {
    const std::string path = (folder.path() / name).string();
    EXPECT_EQ(flag(*parsed({"release", "--out", "o", "--data", path.c_str()}), "data.features"), path);
  }
  const auto several = parsed({"release", "--out", "o", "--data", "a.bin, b.bin,/abs/c.bin"});
  EXPECT_EQ(flag(*several, "data.features"), here + "/a.bin," + here + "/b.bin,/abs/c.bin");
}

TEST(CommandLineTest, NoVerbDemandsAConfigurationFile) {
  for (const char* verb : {"audit", "doctor"}) EXPECT_FALSE(parsed({verb})->alone(std::cout)) << verb;
  for (const char* verb : {"run", "release", "train", "sample", "evaluate"})
    EXPECT_NO_THROW(parsed({verb, "--out", "o"})) << verb;
  for (const char* verb : {"plan", "audit"}) EXPECT_NO_THROW(parsed({verb})) << verb;
}

TEST(CommandLineTest, AVerbCarriesOutItsOwnStages) {
  EXPECT_TRUE(parsed({"run", "--out", "o"})->stages().evaluate);
  const Stages train = parsed({"train", "--out", "o"})->stages();
  EXPECT_TRUE(train.train && !train.release && !train.sample && !train.evaluate);
}

TEST(CommandLineTest, VerbsThatNeedNoRanksAreForOneProcess) {
  const std::vector<std::vector<const char*>> alone{{"account", "--epsilon", "1", "--delta", "1e-5"},
                                                    {"plan"},
                                                    {"verify", "x.mfl"},
                                                    {"ledger", "show", "--ledger", "x"},
                                                    {"schema", "init", "x.csv"},
                                                    {"check", "--config", "c.toml", "--rank", "2"},
                                                    {"schema", "hash", "s.toml"},
                                                    {"keygen", "--out", "o", "--name", "n"},
                                                    {"config-keys"},
                                                    {"make-mixture", "--out", "o"},
                                                    {"--help"},
                                                    {"run", "--help"},
                                                    {"--version"}};
  for (const auto& words : alone) EXPECT_TRUE(parsed(words)->alone(std::cout)) << words[0];
  std::ostringstream help;
  parsed({"evaluate", "--help"})->alone(help)();
  EXPECT_THAT(help.str(), HasSubstr("sample.formats"));
  for (const char* verb : {"run", "release", "train", "sample", "evaluate"})
    EXPECT_FALSE(parsed({verb, "--out", "o"})->alone(std::cout)) << verb;
}

TEST(CommandLineTest, EverythingTypedThatIsNoSettingIsComparedBetweenRanks) {
  const auto base = parsed({"release", "--out", "o"})->invocation();
  EXPECT_NE(parsed({"run", "--out", "o"})->invocation(), base);
  EXPECT_NE(parsed({"release", "--out", "p"})->invocation(), base);
  EXPECT_NE(parsed({"release", "--out", "o", "--dry-run"})->invocation(), base);
  EXPECT_NE(parsed({"release", "--out", "o", "--export-tables", "t"})->invocation(), base);
  EXPECT_NE(parsed({"release", "--out", "o", "--insecure-seeded-noise", "0"})->invocation(), base);
  EXPECT_NE(parsed({"release", "--out", "o", "--insecure-seeded-noise", "1"})->invocation(),
            parsed({"release", "--out", "o", "--insecure-seeded-noise", "2"})->invocation());
  EXPECT_NE(parsed({"release", "--out", "o", "--insecure-no-noise"})->invocation(), base);
  EXPECT_EQ(parsed({"release", "--out", "o", "-v"})->invocation(), base) << "ranks may talk differently";
  const auto train = parsed({"train", "--out", "o"})->invocation();
  EXPECT_NE(parsed({"train", "--out", "o", "--release", "r"})->invocation(), train);
  EXPECT_NE(parsed({"sample", "--out", "o", "--model", "r"})->invocation(),
            parsed({"sample", "--out", "o"})->invocation());
  EXPECT_NE(parsed({"evaluate", "--out", "o", "--samples", "r"})->invocation(),
            parsed({"evaluate", "--out", "o"})->invocation());
}

TEST(CommandLineTest, AnUnknownVerbOrOptionIsNamedWithTheOneItMayStandFor) {
  const auto said = [](const std::vector<const char*>& words) -> std::string {
    try {
      parsed(words);
    } catch (const UsageError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(said({"frobnicate"}), HasSubstr("'frobnicate' is no verb"));
  EXPECT_THAT(said({"relaese"}), HasSubstr("did you mean 'release'"));
  EXPECT_THAT(said({"help", "relaese"}), HasSubstr("did you mean 'release'"));
  EXPECT_THAT(said({"hepl"}), HasSubstr("'hepl' is no verb of muffle's; did you mean 'help'? See"));
  EXPECT_THAT(
      said({"run", "--confg", "x.toml", "--out", "o"}),
      HasSubstr("'--confg' is no option of `muffle run`; did you mean '--config'? See `muffle run --help`."));
  EXPECT_THAT(said({"run", "--confg=x.toml"}), HasSubstr("did you mean '--config'"))
      << "before what is missing";
  EXPECT_THAT(said({"ledger", "show", "--leger", "x"}),
              HasSubstr("no option of `muffle ledger show`; did you mean '--ledger'"));
  EXPECT_THAT(said({"--verson"}), HasSubstr("no option of `muffle`; did you mean '--version'"));
  EXPECT_THAT(said({"run", "--out", "o", "--frobnicate"}), HasSubstr("is no option of `muffle run`. See"));
}

TEST(CommandLineTest, HelpIsAVerbToo) {
  const auto printed = [](const std::vector<const char*>& words) {
    std::ostringstream out;
    parsed(words)->alone(out)();
    return out.str();
  };
  EXPECT_EQ(printed({"help"}), printed({"--help"}));
  EXPECT_EQ(printed({"help", "run"}), printed({"run", "--help"}));
  EXPECT_EQ(printed({"help", "ledger", "show"}), printed({"ledger", "show", "--help"}));
  EXPECT_THAT(printed({"help"}), HasSubstr("muffle help VERB"));
}

TEST(CommandLineTest, WhatCannotBeReadIsAUsageError) {
  for (const auto& words : std::vector<std::vector<const char*>>{
           {}, {"dance"}, {"run"}, {"release", "--out", "o", "--no-such-flag"}, {"run", "--out"}}) {
    CommandLine line;
    std::vector<const char*> all{"muffle"};
    all.insert(all.end(), words.begin(), words.end());
    try {
      line.parse(static_cast<int>(all.size()), all.data());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("--help"));
    }
  }
}

TEST(Slurm, AWrongConfigurationIsFoundBeforeTheQueue) {
  const std::string config = MUFFLE_CONFIGS "/fashion-mnist.toml";
  cluster::SlurmJob job;
  EXPECT_THROW(slurm(job, {"/no/such/file.toml", {}, {}, {}}), Error);
  EXPECT_THROW(slurm(job, {config, {}, {"train.stepz=5"}, {}}), ConfigError);
  EXPECT_THAT(slurm(job, {config, {}, {}, {}}), HasSubstr("#SBATCH"));
  job.gpus_per_node = 2;
  EXPECT_THROW(slurm(job, {config, {}, {"train.ranks=3"}, {}}), UsageError) << "two ranks on one GPU";
  EXPECT_NO_THROW(slurm(job, {config, {}, {"train.ranks=2"}, {}}));
}

TEST(Doctor, NamesTheLibtorchThatIsLoaded) {
  const test::TemporaryFolder folder;
  std::ostringstream out;
  EXPECT_EQ(cluster::doctor(*comm::single_process(), {folder.path().string(), "json", 20}, out),
            ExitCode::kDone);
  EXPECT_THAT(out.str(), HasSubstr("\"libtorch\": \"libtorch_cpu.so"));
}

}  // namespace
}  // namespace muffle::app
