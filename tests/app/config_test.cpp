#include "muffle/app/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "config_problems.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;
using namespace testing_config;

TEST(ConfigTest, EveryShippedConfigurationLoads) {
  const ShippedConfigs configs;
  for (const std::string& file : configs.files) {
    SCOPED_TRACE(file);
    EXPECT_NO_THROW(load_config({file, {}, {}, {}}));
  }
  EXPECT_GE(configs.files.size(), 3u);
}

TEST(ConfigTest, MnistDiffersFromFashionMnistInFilesLengthScaleAndStraysOnly) {
  const auto fashion = flatten(load_config({kMain, {}, {}, {}}));
  const auto mnist = flatten(load_config({shipped("mnist.toml"), {}, {}, {}}));
  for (const auto& [key, value] : fashion) {
    if (key == "data.dir" || key == "map.rff.length_scale" || key == "sample.stray") {
      EXPECT_NE(mnist.at(key), value) << key;
    } else {
      EXPECT_EQ(mnist.at(key), value) << key;
    }
  }
}

TEST(ConfigTest, LaterSourcesWin) {
  ConfigSources sources{kMain, {}, {}, {}};
  EXPECT_EQ(load_config(sources).train.steps, load_config({kMain, {}, {}, {}}).train.steps);
  sources.environment["MUFFLE_TRAIN__STEPS"] = "11";
  EXPECT_EQ(load_config(sources).train.steps, 11u);
  sources.set.push_back("train.steps=12");
  EXPECT_EQ(load_config(sources).train.steps, 12u);
  sources.flags.emplace_back("train.steps", "13");
  EXPECT_EQ(load_config(sources).train.steps, 13u);
}

TEST(ConfigTest, TextNeedsNoQuotesOnTheCommandLine) {
  EXPECT_EQ(load_config({kMain, {}, {"data.dir=/some/folder"}, {}}).data.dir, "/some/folder");
  EXPECT_EQ(load_config({kMain, {}, {"data.dir=\"/some/folder\""}, {}}).data.dir, "/some/folder");
  EXPECT_EQ(load_config({kMain, {}, {"data.dir=2024"}, {}}).data.dir, "2024");
  EXPECT_EQ(flatten(load_config({kMain, {}, {"model.hidden=[7, 9]"}, {}})).at("model.hidden"), "[7, 9]");
}

TEST(ConfigTest, RanksThatTrainAreANameOrANumber) {
  using Kind = comm::RankWish::Kind;
  const auto with = [](const char* setting) { return load_config({kMain, {}, {setting}, {}}); };
  EXPECT_EQ(load_config({kMain, {}, {}, {}}).train.ranks, comm::RankWish{});
  EXPECT_EQ(with("train.ranks=with-gpu").train.ranks, (comm::RankWish{Kind::kWithGpu, 0}));
  EXPECT_EQ(with("train.ranks=3").train.ranks, (comm::RankWish{Kind::kFirst, 3}));
  EXPECT_EQ(flatten(with("train.ranks=3")).at("train.ranks"), "3");
  EXPECT_EQ(flatten(with("train.ranks=\"with-gpu\"")).at("train.ranks"), "\"with-gpu\"");
  for (const char* setting : {"train.ranks=0", "train.ranks=-1", "train.ranks=some", "train.ranks=1.5"})
    EXPECT_THAT(problem_with_setting(setting), HasSubstr("\"all\", \"with-gpu\" or a whole number"))
        << setting;
}

TEST(ConfigTest, WhereTheWorkIsDoneChangesNoStage) {
  const Config plain = load_config({kMain, {}, {}, {}});
  const Config moved = load_config({kMain,
                                    {},
                                    {"features.device=auto", "train.device=cpu", "train.ranks=2",
                                     "train.cuda_graph=true", "runtime.share_gpus=true"},
                                    {}});
  EXPECT_EQ(moved.devices.embed, comm::DeviceWish::kAuto);
  EXPECT_EQ(moved.train.device, comm::DeviceWish::kCpu);
  EXPECT_TRUE(moved.train.cuda_graph);
  EXPECT_TRUE(moved.devices.share_gpus);
  for (const Stage stage : {Stage::kRelease, Stage::kTrain, Stage::kSample, Stage::kEvaluate})
    EXPECT_EQ(stage_hash(plain, stage), stage_hash(moved, stage));
}

TEST(ConfigTest, UnknownKeysSuggestTheRightOne) {
  EXPECT_THAT(problem_with_setting("privacy.epsilom=1"), HasSubstr("did you mean 'privacy.epsilon'"));
  EXPECT_THAT(problem_with_setting("train.epsilon=1"), HasSubstr("did you mean 'privacy.epsilon'"));
  EXPECT_THAT(problem_with_setting("zzzzzzzzzzzz.q=1"), HasSubstr("config-keys"));
  const TemporaryFile file("[train]\nstpes = 3\n");
  EXPECT_THAT(problem_with({file.path(), {}, {}, {}}), HasSubstr("line 2"));
  EXPECT_THAT(problem_with({file.path(), {}, {}, {}}), HasSubstr("did you mean 'train.steps'"));
}

TEST(ConfigTest, AVariableWithOneUnderscoreIsRefused) {
  ASSERT_EQ(::setenv("MUFFLE_PRIVACY_EPSILON", "3", 1), 0);
  ASSERT_EQ(::setenv("MUFFLE_MAP_RFF_LENGTH_SCALE", "3", 1), 0);
  ASSERT_EQ(::setenv("MUFFLE_TEST_SOMETHING", "3", 1), 0);
  const ConfigSources sources{kMain, environment_settings(), {}, {}};
  ::unsetenv("MUFFLE_PRIVACY_EPSILON");
  ::unsetenv("MUFFLE_MAP_RFF_LENGTH_SCALE");
  ::unsetenv("MUFFLE_TEST_SOMETHING");
  EXPECT_EQ(sources.environment.size(), 2u);
  EXPECT_THAT(problem_with(sources), HasSubstr("did you mean MUFFLE_PRIVACY__EPSILON"));
  EXPECT_THAT(problem_with(sources), HasSubstr("did you mean MUFFLE_MAP__RFF__LENGTH_SCALE"));
}

TEST(ConfigTest, WhatComesFromTheEnvironmentIsNamedWithItsSource) {
  ConfigSources sources{kMain, {{"MUFFLE_PRIVACY__EPSILON", "50"}, {"MUFFLE_TRAIN__STEPS", "5"}}, {}, {}};
  EXPECT_EQ(from_environment(sources),
            "privacy.epsilon (MUFFLE_PRIVACY__EPSILON), train.steps (MUFFLE_TRAIN__STEPS)");
  sources.set = {"train.steps=7"};
  EXPECT_EQ(from_environment(sources), "privacy.epsilon (MUFFLE_PRIVACY__EPSILON)");
  sources.flags = {{"privacy.epsilon", "1"}};
  EXPECT_EQ(from_environment(sources), "");
}

TEST(ConfigTest, AnUnknownEmptySectionIsRefused) {
  const TemporaryFile file("[privcy]\n" + read_file(kMain) + "\n[sampel]\n");
  const std::string problem = problem_with({file.path(), {}, {}, {}});
  EXPECT_THAT(problem, HasSubstr("unknown section 'privcy'"));
  EXPECT_THAT(problem, HasSubstr("unknown section 'sampel'"));
}

TEST(ConfigTest, StageHashesSeeTheirOwnKeysOnly) {
  const Config a = load_config({kMain, {}, {}, {}});
  const Config b = load_config({kMain, {}, {"train.steps=5", "runtime.deadline_s=5.0"}, {}});
  EXPECT_EQ(stage_hash(a, Stage::kRelease), stage_hash(b, Stage::kRelease));
  EXPECT_NE(stage_hash(a, Stage::kTrain), stage_hash(b, Stage::kTrain));
  EXPECT_EQ(stage_hash(a, Stage::kSample), stage_hash(b, Stage::kSample));
  // Samples are written as the records are.
  for (const char* setting : {"data.separator=;", "data.header=false"}) {
    const Config c = load_config({kMain, {}, {setting}, {}});
    EXPECT_NE(stage_hash(a, Stage::kSample), stage_hash(c, Stage::kSample)) << setting;
    EXPECT_EQ(stage_hash(a, Stage::kTrain), stage_hash(c, Stage::kTrain));
  }
}

constexpr const char* kStays = R"([[columns]]
name = "days"
type = "integer"
lo = 0
hi = 60
[[columns]]
name = "ward"
type = "category"
values = ["north", "south"]
[[columns]]
name = "ill"
type = "boolean"
role = "label"
)";
const char* kTables =
    "[data]\nfeatures = \"stays.csv\"\nrecords = 100\n[map.pairs]\nkind = \"pairs\"\n"
    "[privacy]\nepsilon = 1.0\ndelta = 1e-6\nmax_records_per_person = 1\n[model]\ngenerator = "
    "\"pair-graph\"\n"
    "[sample]\nformats = [\"csv\"]\n[evaluate]\nmetrics = []\n";

/// A configuration of the table above, with a schema file of its own.
class TableConfigTest : public ::testing::Test {
 protected:
  TableConfigTest() {
    write_file_atomically(schema_, kStays);
    write_file_atomically(config_, kTables);
  }
  ~TableConfigTest() override { std::filesystem::remove_all(folder_); }
  ConfigSources sources(std::vector<std::string> set = {}) const {
    set.push_back("data.schema=" + schema_.string());
    return {config_.string(), {}, std::move(set), {}};
  }

  const std::filesystem::path folder_ = [] {
    const auto path = std::filesystem::temp_directory_path() / ("muffle-table-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    return path;
  }();
  const std::filesystem::path schema_ = folder_ / "stays.toml", config_ = folder_ / "config.toml";
};

TEST_F(TableConfigTest, RowsOfAPersonAreCountedByPairsAndKnownToThePairGraphAlone) {
  write_file_atomically(
      schema_, std::string(kStays) +
                   "[[columns]]\nname = \"who\"\ntype = \"category\"\nrole = \"person\"\nrows = 4\n");
  const Stages all{.release = true, .train = true, .sample = true};
  const auto refused = [&](std::vector<std::string> set, std::initializer_list<std::string> parts) {
    muffle::test::expect_error(ExitCode::kConfig, parts, [&] { load_config(sources(std::move(set)), all); });
  };
  const std::string four = "privacy.max_records_per_person=4";
  const Config config = load_config(sources({four}), all);
  EXPECT_EQ(config.data.schema.dims(), 2u) << "scores know of no number of rows";
  EXPECT_EQ(config.plan.schema.dims(), 4u) << "and of the label as a column";
  EXPECT_TRUE(config.plan.schema.table->counted_person());
  EXPECT_EQ(schema::as_described(*config.plan.schema.table), *config.data.schema.table);
  refused({}, {"rows = 4", "privacy.max_records_per_person is 1", "one number in both"});
  refused({four, "map.more.kind=one-hot"}, {"map.more is another", "leave that map out, or 'rows'"});
  refused({four, "model.generator=tabular", "map.more.kind=one-hot"},
          {"model.generator = \"tabular\"", "pair-graph"});
}

TEST_F(TableConfigTest, TheLabelOfFewRecordsIsReleasedAsAColumn) {
  const auto label_in = [&](std::vector<std::string> set) {
    const Config config = load_config(sources(std::move(set)), {.release = true});
    EXPECT_EQ(config.data.schema.classes, 2u) << "scores are by class all the same";
    EXPECT_EQ(config.plan.schema.classes, label_as_column(config.plan).empty() ? 2u : 1u);
    return label_as_column(config.plan);
  };
  EXPECT_EQ(label_in({}), "ill");
  EXPECT_EQ(label_in({"data.records=9999"}), "ill");
  EXPECT_EQ(label_in({"data.records=10000"}), "");
  EXPECT_EQ(label_in({"data.label_as=class"}), "");
  EXPECT_EQ(label_in({"data.records=10000", "data.label_as=column"}), "ill");
  // Where m is private: by the public guess, or not at all.
  const std::string add_remove = "privacy.adjacency=add-remove-one";
  EXPECT_EQ(label_in({add_remove, "data.records=0", "data.expected_records=100"}), "ill");
  EXPECT_EQ(label_in({add_remove, "data.records=0"}), "");
  const auto said = [&](std::vector<std::string> set) {
    return without_a_guess(load_config(sources(std::move(set)), {.release = true}));
  };
  EXPECT_THAT(said({add_remove, "data.records=0"}), ::testing::HasSubstr("data.expected_records is not set"));
  EXPECT_EQ(said({add_remove, "data.records=0", "data.expected_records=100"}), "");
  EXPECT_EQ(said({add_remove, "data.records=0", "map.more.kind=rff", "map.more.count=10"}), "")
      << "nothing goes by it";
  EXPECT_EQ(said({}), "") << "m is public";
  // Maps whose features are class by class as they were published.
  EXPECT_EQ(label_in({"map.more.kind=rff", "map.more.count=10"}), "");
}

// Without a header a record could begin with the character, and would then decide whether it counts.
TEST_F(TableConfigTest, ACommentNeedsAHeader) {
  EXPECT_NO_THROW(load_config(sources({"data.comment=#"})));
  muffle::test::expect_error(ExitCode::kConfig, {"data.comment needs a header", "data.skip"}, [&] {
    load_config(sources({"data.comment=#", "data.header=false"}));
  });
  EXPECT_EQ(load_config(sources({"data.header=false", "data.skip=2"})).data.test().skip, 2u);
  EXPECT_EQ(load_config(sources({"data.header=false", "data.test_skip=1"})).data.test().skip, 1u);
}

TEST_F(TableConfigTest, SizesFollowFromTheSchemaAndTheFormatIsCsv) {
  const Config config = load_config(sources());
  EXPECT_EQ(config.data.format, "csv");
  EXPECT_EQ(config.data.schema.shape, std::vector<std::size_t>{2});
  EXPECT_EQ(config.data.schema.classes, 2u);
  ASSERT_TRUE(config.data.schema.table);
  EXPECT_EQ(config.data.schema.table->columns.size(), 3u);
  EXPECT_EQ(agreed_settings(config).count("the schema's column 'ward'"), 1u);
}

// Neither data.dir nor the folder that muffle is started in.
TEST_F(TableConfigTest, ARelativeSchemaLiesBesideTheConfigurationThatNamesIt) {
  write_file_atomically(config_, "[data]\nschema = \"stays.toml\"\ndir = \"/elsewhere\"\n" +
                                     std::string(kTables).substr(std::strlen("[data]\n")));
  const Config config = load_config({config_.string(), {}, {}, {}});
  EXPECT_EQ(config.data.schema_file, schema_.string());
  const std::string relative = std::filesystem::relative(config_).string();
  EXPECT_EQ(flatten(load_config({relative, {}, {}, {}})), flatten(config)) << "however it is named";
  // What was typed means what it means to the shell.
  const std::string typed = "data.schema=" + std::filesystem::relative(schema_).string();
  EXPECT_EQ(load_config({config_.string(), {}, {typed}, {}}).data.schema_file, schema_.string());
  EXPECT_THROW(load_config({config_.string(), {}, {"data.schema=stays.toml"}, {}}), IoError);
  EXPECT_THROW(load_config({config_.string(), {{"MUFFLE_DATA__SCHEMA", "stays.toml"}}, {}, {}}), IoError);
  // Its content is what counts: a copy elsewhere is the same release, and the same to the other ranks.
  write_file_atomically(folder_ / "copy.toml", kStays);
  const Config copy =
      load_config({config_.string(), {}, {"data.schema=" + (folder_ / "copy.toml").string()}, {}});
  EXPECT_EQ(stage_hash(copy, Stage::kRelease), stage_hash(config, Stage::kRelease));
  EXPECT_EQ(agreed_settings(copy), agreed_settings(config));
}

TEST_F(TableConfigTest, ItsOwnResolvedConfigurationLoadsToo) {
  const Config config = load_config(sources());
  const TemporaryFile file(to_toml(flatten(config)));
  EXPECT_EQ(flatten(load_config({file.path(), {}, {}, {}})), flatten(config));
}

TEST_F(TableConfigTest, SizesThatSayOtherwiseAreRefused) {
  EXPECT_THAT(problem_with(sources({"data.classes=3"})), HasSubstr("data.classes follows from the schema"));
  EXPECT_THAT(problem_with(sources({"data.shape=[5]"})), HasSubstr("data.shape follows from the schema"));
}

TEST_F(TableConfigTest, ASchemaThatCannotBeUsedIsAProblemAmongTheOthers) {
  write_file_atomically(schema_, std::string(kStays) + "[[columns]]\nname = \"ward\"\ntype = \"ignore\"\n");
  const std::string problem = problem_with(sources({"privacy.epsilom=1"}));
  EXPECT_THAT(problem, HasSubstr("column 'ward' is there twice"));
  EXPECT_THAT(problem, HasSubstr("did you mean 'privacy.epsilon'"));
  EXPECT_THAT(problem, HasSubstr("2 problems")) << "none that follows from the schema's absence";
  std::filesystem::remove(schema_);
  EXPECT_THROW(load_config(sources()), IoError);
}

// A list of combinations is published as it is.
TEST_F(TableConfigTest, AListThatIsTheRecordsThemselvesIsRefused) {
  const std::string list = "[[combinations]]\ncolumns = [\"ward\", \"ill\"]\nfile = \"stays.csv\"\n";
  write_file_atomically(schema_, kStays + list);
  write_file_atomically(folder_ / "stays.csv", "ward,ill\nnorth,true\nsouth,false\n");
  const auto refused = [&](const std::vector<std::string>& set) {
    const std::string problem = problem_with(sources(set));
    EXPECT_THAT(problem, HasSubstr("'stays.csv' is a file with records of this configuration"));
  };
  const std::string dir = "data.dir=" + folder_.string();
  EXPECT_NO_THROW(load_config(sources())) << "such a file elsewhere";
  refused({dir});
  refused({dir, "data.features=s*.csv"});
  refused({dir, "data.features=other.csv", "data.test_features=./stays.csv"});
  refused({dir, "data.features=sta{rank}.csv", "data.shards=per-rank"});
  EXPECT_NO_THROW(load_config(sources({dir, "data.features=other.csv"})));
}

TEST_F(TableConfigTest, AnotherSchemaIsAnotherRelease) {
  const std::string before = stage_hash(load_config(sources()), Stage::kRelease);
  std::string other = kStays;
  other.replace(other.find("hi = 60"), 7, "hi = 61");
  write_file_atomically(schema_, other);
  EXPECT_NE(stage_hash(load_config(sources()), Stage::kRelease), before);
}

TEST_F(TableConfigTest, TheSpellingOfAPathIsNotPartOfAStage) {
  const std::string before = stage_hash(load_config(sources()), Stage::kRelease);
  for (const char* setting : {"data.dir=\"./\"", "data.features=\"./x.csv\""})
    EXPECT_EQ(stage_hash(load_config(sources({setting})), Stage::kRelease), before) << setting;
}

TEST(ConfigTest, BrokenTomlNamesTheLine) {
  const TemporaryFile file("[train]\nsteps = = 3\n");
  EXPECT_THAT(problem_with({file.path(), {}, {}, {}}), HasSubstr("line 2"));
}

TEST(ConfigTest, MissingFileIsAnIoError) {
  EXPECT_THROW(load_config({"/no/such/file.toml", {}, {}, {}}), IoError);
}

}  // namespace
}  // namespace muffle::app
