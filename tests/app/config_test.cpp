#include "muffle/app/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;

const std::string kMain = std::string(MUFFLE_CONFIGS) + "/fashion-mnist.toml";

std::string problem_with(const ConfigSources& sources, Stages stages = Stages::all()) {
  try {
    load_config(sources, stages);
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.code(), ExitCode::kConfig);
    return e.what();
  }
  return {};
}

std::string problem_with_setting(const std::string& assignment) {
  return problem_with({kMain, {}, {assignment}, {}});
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("muffle-config-" + std::to_string(::getpid()) + ".toml")) {
    write_file_atomically(path_, text);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ConfigTest, EveryShippedConfigurationLoads) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MUFFLE_CONFIGS)) {
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(load_config({entry.path().string(), {}, {}, {}}));
    ++found;
  }
  EXPECT_GE(found, 3);
}

TEST(ConfigTest, MnistDiffersFromFashionMnistInFilesAndLengthScaleOnly) {
  const auto fashion = flatten(load_config({kMain, {}, {}, {}}));
  const auto mnist = flatten(load_config({std::string(MUFFLE_CONFIGS) + "/mnist.toml", {}, {}, {}}));
  for (const auto& [key, value] : fashion) {
    if (key == "data.dir" || key == "features.length_scale") {
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
  EXPECT_EQ(load_config({kMain, {}, {"model.hidden=[7, 9]"}, {}}).model.hidden,
            (std::vector<std::size_t>{7, 9}));
}

TEST(ConfigTest, RanksThatTrainAreANameOrANumber) {
  using Kind = comm::RankWish::Kind;
  const auto with = [](const char* setting) { return load_config({kMain, {}, {setting}, {}}); };
  EXPECT_EQ(load_config({kMain, {}, {}, {}}).devices.train_ranks, comm::RankWish{});
  EXPECT_EQ(with("train.ranks=with-gpu").devices.train_ranks, (comm::RankWish{Kind::kWithGpu, 0}));
  EXPECT_EQ(with("train.ranks=3").devices.train_ranks, (comm::RankWish{Kind::kFirst, 3}));
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
  EXPECT_EQ(moved.devices.train, comm::DeviceWish::kCpu);
  EXPECT_TRUE(moved.devices.cuda_graph);
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

TEST(ConfigTest, EveryProblemIsReportedAtOnce) {
  const std::string text = problem_with(
      {kMain, {}, {"train.steps=0", "privacy.delta=\"x\"", "data.shards=\"odd\"", "features.count=7"}, {}});
  for (const char* part : {"4 problems", "train.steps", "privacy.delta", "data.shards", "features.count"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ConfigTest, PrivacySettingsThatMeanNothingAreRefused) {
  for (const char* setting :
       {"privacy.epsilon=0", "privacy.epsilon=-1", "privacy.epsilon=nan", "privacy.epsilon=inf",
        "privacy.epsilon=1e9", "privacy.delta=0", "privacy.delta=1", "privacy.delta=2", "privacy.delta=nan",
        "privacy.noise_multiplier=1", "privacy.epsilon=none", "privacy.max_records_per_person=0"}) {
    EXPECT_NE(problem_with_setting(setting), "") << setting;
  }
}

TEST(ConfigTest, ContradictionsAreRefused) {
  for (const char* setting :
       {"data.shape=[28, 28]", "data.lo=255.0", "data.features=\"x-{rank}\"", "data.labels=\"y-{rank}\"",
        "data.shards=per-rank", "data.records=0", "sample.formats=[]", "sample.labels=\"released-counts\"",
        "privacy.adjacency=\"add-remove-one\"", "train.decay=0.0", "train.learning_rate=nan",
        "features.length_scale=0.0", "features.length_scale=nan", "runtime.deadline_s=0.0",
        "runtime.deadline_s=nan", "features.lattice_bits=25", "data.records=70368744177664",
        "data.labels=\"\""}) {
    EXPECT_NE(problem_with_setting(setting), "") << setting;
  }
}

// Ranks do not even start within less.
TEST(ConfigTest, ADeadlineIsASecondAtLeast) {
  EXPECT_EQ(load_config({kMain, {}, {"runtime.deadline_s=1.0"}, {}}).runtime.deadline_s, 1.0);
  for (const char* setting : {"runtime.deadline_s=0.999", "runtime.deadline_s=0.0005"})
    EXPECT_THAT(problem_with_setting(setting), HasSubstr("a number from 1 to 1e+06")) << setting;
}

TEST(ConfigTest, AVariableWithOneUnderscoreIsRefused) {
  ASSERT_EQ(::setenv("MUFFLE_PRIVACY_EPSILON", "3", 1), 0);
  ASSERT_EQ(::setenv("MUFFLE_TEST_SOMETHING", "3", 1), 0);
  const ConfigSources sources{kMain, environment_settings(), {}, {}};
  ::unsetenv("MUFFLE_PRIVACY_EPSILON");
  ::unsetenv("MUFFLE_TEST_SOMETHING");
  EXPECT_EQ(sources.environment.size(), 1u);
  EXPECT_THAT(problem_with(sources), HasSubstr("did you mean MUFFLE_PRIVACY__EPSILON"));
}

TEST(ConfigTest, AnUnknownEmptySectionIsRefused) {
  const TemporaryFile file("[privcy]\n" + read_file(kMain) + "\n[sampel]\n");
  const std::string problem = problem_with({file.path(), {}, {}, {}});
  EXPECT_THAT(problem, HasSubstr("unknown section 'privcy'"));
  EXPECT_THAT(problem, HasSubstr("unknown section 'sampel'"));
}

TEST(ConfigTest, OneFileARankMeansLabelsToo) {
  std::string text = read_file(kMain);
  const std::size_t at = text.find("\nshards");
  ASSERT_NE(at, std::string::npos);
  const TemporaryFile file(text.erase(at, text.find('\n', at + 1) - at));
  const auto with = [&](std::vector<std::string> set) {
    return ConfigSources{file.path(), {}, std::move(set), {}};
  };
  const std::string features = "data.features=x-{rank}", labels = "data.labels=y-{rank}";
  EXPECT_THAT(problem_with(with({features})), HasSubstr("data.labels"));
  EXPECT_THAT(problem_with(with({features, labels, "data.shards=contiguous"})), HasSubstr("data.shards"));
  EXPECT_THAT(problem_with(with({features, labels, "evaluate.also_real=true"})), HasSubstr("also_real"));
  // The path says it all, or the folder's does.
  EXPECT_EQ(load_config(with({features, labels})).data.shards, data::ShardRule::kPerRank);
  EXPECT_EQ(load_config(with({"data.dir=/site-{rank}"})).data.shards, data::ShardRule::kPerRank);
  EXPECT_THAT(problem_with(with({"data.dir=/site-{rank}", "data.labels=/all/y"})), HasSubstr("data.labels"));
}

TEST(ConfigTest, WhatALaterStageCannotDoIsRefusedBeforeAnythingIsCharged) {
  for (const char* setting : {"data.shape=[1, 27, 28]",
                              "data.shape=[1, 28, 30]",
                              "data.shape=[1, 16777217, 4]",
                              "data.shape=[65536, 65536, 65536]",
                              "data.shape=[1, 8000, 8]",
                              "data.hi=1e39",
                              "data.lo=-inf",
                              "data.classes=257",
                              "data.classes=1",
                              "features.count=67108864",
                              "features.length_scale=inf",
                              "features.length_scale=1e21",
                              "model.channels=[16]",
                              "model.channels=[]",
                              "model.channels=[1, 2, 3]",
                              "model.channels=[16777216, 16777216]",
                              "model.hidden=[]",
                              "model.hidden=[16777216, 16777216]",
                              "train.steps=4294967295",
                              "train.steps=8589934592",
                              "train.learning_rate=inf",
                              "train.learning_rate=-1.0",
                              "train.decay=nan",
                              "train.decay_every=4294967295",
                              "sample.count=5",
                              "sample.count=4294967296",
                              "sample.count=4294967295",
                              "sample.formats=[\"npz\", \"npz\"]",
                              "sample.formats=[\"idx\"]",
                              "evaluate.classifiers=[]",
                              "evaluate.classifiers=[\"mlp\", \"mlp\"]",
                              "evaluate.train_limit=9",
                              "evaluate.metrics=[\"mixture-nll\"]",

                              "data.test_labels=\"\"",
                              "runtime.deadline_s=inf",
                              "data.generate=\"gaussian-mixture-2d\""}) {
    EXPECT_NE(problem_with_setting(setting), "") << setting;
    // With the release by itself too: the file names the later stages' keys, so they are to follow.
    EXPECT_NE(problem_with({kMain, {}, {setting}, {}}, {.release = true}), "") << setting;
  }
  EXPECT_THAT(problem_with_setting("data.classes=257"), HasSubstr("from 1 to 256"));
}

TEST(ConfigTest, AStageNeedsItsOwnSectionsOnly) {
  const ConfigSources none;
  EXPECT_EQ(problem_with(none, {.train = true}), "");
  EXPECT_EQ(problem_with(none, {.sample = true}), "");
  EXPECT_NE(problem_with(none, {.release = true}), "");
  EXPECT_THAT(problem_with(none, {.evaluate = true}), HasSubstr("data.test_features"));
  EXPECT_EQ(problem_with({{}, {}, {"evaluate.metrics=[\"mixture-nll\"]"}, {}}, {.evaluate = true}), "");
  EXPECT_THAT(problem_with({{}, {}, {"model.channels=[1]"}, {}}, {.train = true}),
              HasSubstr("model.channels"));
  EXPECT_EQ(problem_with({{}, {}, {"model.channels=[1]"}, {}}, {.sample = true}), "");
  EXPECT_NE(problem_with({{}, {}, {"train.steps=0"}, {}}, {.sample = true}), "")
      << "no stage could use it, whoever reads it";
}

TEST(ConfigTest, AReleaseByItselfNeedsNoLaterSection) {
  const std::vector<std::string> release{
      "data.features=x",     "data.labels=y",      "data.records=90",
      "data.classes=3",      "data.shape=[5]",     "features.count=10",
      "privacy.epsilon=1.0", "privacy.delta=1e-5", "privacy.max_records_per_person=1"};
  EXPECT_EQ(problem_with({{}, {}, release, {}}, {.release = true}), "");
  EXPECT_THAT(problem_with({{}, {}, release, {}}), HasSubstr("convolutional"));
  auto settings = release;
  settings.push_back("model.generator=fully-connected");
  EXPECT_EQ(problem_with({{}, {}, settings, {}}), "");
  EXPECT_THAT(problem_with({{}, {}, settings, {}}, {.evaluate = true}), HasSubstr("data.test_features"));
}

TEST(ConfigTest, TheClosedFormNeedsMomentsItCanDrawFrom) {
  const std::string images = std::string(MUFFLE_CONFIGS) + "/fashion-mnist-moments.toml";
  const auto problem = [&](std::vector<std::string> set) {
    return problem_with({images, {}, std::move(set), {}});
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(load_config({images, {}, {}, {}}).model.kind, model::GeneratorKind::kMoments);
  EXPECT_THAT(problem({"features.blocks=[\"rff\"]", "features.count=10"}), HasSubstr("second moments"));
  EXPECT_THAT(problem({"moments.kind=\"fourier\""}), HasSubstr("at most 3 numbers"));
  EXPECT_THAT(problem({"model.plain_share=1.5"}), HasSubstr("plain_share"));
  EXPECT_THAT(problem({"model.plain_share=nan"}), HasSubstr("plain_share"));
}

TEST(ConfigTest, AStartFromTheClosedFormNeedsItsThreeBlocks) {
  const std::string start = std::string(MUFFLE_CONFIGS) + "/fashion-mnist-init.toml";
  const auto problem = [&](std::vector<std::string> set) {
    return problem_with({start, {}, std::move(set), {}});
  };
  const Config config = load_config({start, {}, {}, {}});
  EXPECT_TRUE(config.train.from_moments);
  EXPECT_EQ(trained_generator(config).code, 196u) << "the closed form's own normal numbers";
  const auto specs = block_specs(config);
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_TRUE(specs[2].proxy);
  EXPECT_NE(map_hash(specs[1]), map_hash(specs[2]));
  // The moments lose a few per cent to the other two.
  const double own = specs[0].weight, sensitivity = plan_release(config).sensitivity.value;
  EXPECT_NEAR(sensitivity, std::sqrt(2 * own * own + 4 + 4 * specs[2].weight * specs[2].weight), 1e-9);
  EXPECT_LT(sensitivity / own, 1.06 * std::sqrt(2.0));

  EXPECT_THAT(problem({"features.blocks=[\"moments\", \"rff\"]"}), HasSubstr("\"proxy\""));
  EXPECT_THAT(problem({"features.blocks=[\"moments\", \"proxy\"]"}), HasSubstr("add that"));
  EXPECT_THAT(problem({"proxy.seed=1"}), HasSubstr("frequencies of its own"));
  EXPECT_THAT(problem({"proxy.count=11"}), HasSubstr("proxy.count must be even"));
  EXPECT_THAT(problem({"moments.kind=\"fourier\""}), HasSubstr("starts from moments of kind"));
  EXPECT_THAT(problem({"model.generator=\"moments\""}), HasSubstr("needs no training"));
  EXPECT_EQ(problem({"train.keep=trained"}), "");
  EXPECT_THAT(problem({"train.keep=trained", "train.init=random"}), HasSubstr("train.keep = \"trained\""));
  ConfigSources sources{
      std::string(MUFFLE_CONFIGS) + "/fashion-mnist.toml", {}, {}, {{"train.init", "moments"}}};
  EXPECT_THAT(problem_with(sources), HasSubstr("train.init = \"moments\" needs features.blocks"));
}

TEST(ConfigTest, CoefficientsFollowFromThePublicNoise) {
  const std::string images = std::string(MUFFLE_CONFIGS) + "/fashion-mnist-moments.toml";
  const auto side = [&](std::vector<std::string> set) {
    const Config config = load_config({images, {}, std::move(set), {}});
    EXPECT_EQ(block_specs(config)[0].moments()->coefficients, config.moments.spec.coefficients);
    EXPECT_EQ(flatten(config).at("moments.coefficients"), std::to_string(config.moments.spec.coefficients));
    return config.moments.spec.coefficients;
  };
  EXPECT_EQ(side({}), 14u);
  EXPECT_EQ(side({"privacy.epsilon=0.2"}), 14u);
  EXPECT_EQ(side({"privacy.epsilon=10"}), 20u);
  EXPECT_EQ(side({"privacy.epsilon=10", "moments.coefficients=9"}), 9u) << "what is written stands";
  EXPECT_EQ(side({"privacy.epsilon=90", "data.records=60000000"}), 28u) << "no more than the image has";
  EXPECT_GT(side({"privacy.epsilon=1", "data.records=6000000"}), 20u) << "more records: less noise in a mean";
}

TEST(ConfigTest, SumsOfAPrivateNumberOfRecordsHaveRoom) {
  const std::string images = std::string(MUFFLE_CONFIGS) + "/fashion-mnist-moments.toml";
  const std::vector<std::string> hidden{"privacy.adjacency=add-remove-one", "data.records=0"};
  EXPECT_EQ(problem_with({images, {}, hidden, {}}), "");
  auto wide = hidden;
  wide.push_back("moments.bits=17");
  EXPECT_THAT(problem_with({images, {}, wide, {}}), HasSubstr("moments.bits is 17"));
  EXPECT_EQ(problem_with({images, {}, {"moments.bits=17"}, {}}), "")
      << "where m is public it is compared with it";
}

TEST(ConfigTest, AClosedFormLargerThanAFileIsRefused) {
  const std::string images = std::string(MUFFLE_CONFIGS) + "/fashion-mnist-moments.toml";
  const std::vector<std::string> large{"data.shape=[1, 256, 256]", "moments.coefficients=60",
                                       "data.classes=60", "moments.bits=18", "evaluate.metrics=[]"};
  EXPECT_THAT(problem_with({images, {}, large, {}}), HasSubstr("larger than a model file"));
}

TEST(ConfigTest, ABudgetNeedsANameAndALedger) {
  const std::vector<std::string> budget{"privacy.budget_epsilon=1.0", "data.id=patients",
                                        "privacy.ledger=/data/ledger.jsonl"};
  EXPECT_EQ(problem_with({kMain, {}, budget, {}}), "");
  EXPECT_THAT(problem_with({kMain, {}, {budget[0], budget[1]}, {}}), HasSubstr("privacy.ledger"));
  EXPECT_THAT(problem_with({kMain, {}, {budget[0], budget[2]}, {}}), HasSubstr("data.id"));
  // A relative path is another ledger, with nothing spent, from each folder.
  EXPECT_THAT(problem_with({kMain, {}, {budget[0], budget[1], "privacy.ledger=data/ledger.jsonl"}, {}}),
              HasSubstr("absolute path"));
  EXPECT_EQ(problem_with({kMain, {}, {budget[1], "privacy.ledger=data/ledger.jsonl"}, {}}), "");
  for (const char* wrong :
       {"data.id=\"a b\"", "data.id=../x", "privacy.budget_epsilon=nan", "privacy.budget_epsilon=0.0",
        "privacy.budget_delta=nan", "privacy.budget_delta=1.0"}) {
    auto settings = budget;
    settings.push_back(wrong);
    EXPECT_NE(problem_with({kMain, {}, settings, {}}), "") << wrong;
  }
}

TEST(ConfigTest, AggregationSettingsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(problem_with_setting("privacy.distributed_noise=true"),
              HasSubstr("needs privacy.secure_aggregation"));
  EXPECT_THAT(problem_with_setting("privacy.site_key=\"a\""), HasSubstr("go together"));
  EXPECT_THAT(problem_with_setting("privacy.site_roster=\"a\""), HasSubstr("go together"));
  EXPECT_THAT(problem_with({kMain, {}, {"privacy.site_key=\"a\"", "privacy.site_roster=\"b\""}, {}}),
              HasSubstr("needs privacy.secure_aggregation"));
  EXPECT_NE(problem_with_setting("privacy.colluding_ranks=-1"), "");
  std::vector<std::string> shares = {"privacy.secure_aggregation=true", "privacy.distributed_noise=true",
                                     "privacy.adjacency=add-remove-one", "privacy.release_counts=true",
                                     "data.records=0"};
  EXPECT_THAT(problem_with({kMain, {}, shares, {}}), HasSubstr("needs data.shards = \"per-rank\""));
  shares.insert(shares.end(),
                {"data.shards=per-rank", "data.features=a-{rank}.idx", "data.labels=b-{rank}.idx"});
  EXPECT_EQ(problem_with({kMain, {}, shares, {}}), "");
  const Config c = load_config({kMain,
                                {},
                                {"privacy.secure_aggregation=true", "privacy.distributed_noise=true",
                                 "privacy.site_key=\"k\"", "privacy.site_roster=\"r\""},
                                {}});
  EXPECT_TRUE(c.aggregation.secure && c.aggregation.distributed);
  EXPECT_EQ(c.aggregation.colluding, 1) << "a curious coordinator, unless more is said";
  EXPECT_NE(stage_hash(c, Stage::kRelease), stage_hash(load_config({kMain, {}, {}, {}}), Stage::kRelease));
}

TEST(ConfigTest, ResolvedConfigurationReadsBackTheSame) {
  const Config config = load_config({kMain, {}, {"privacy.epsilon=0.1", "train.learning_rate=0.003"}, {}});
  const TemporaryFile file(to_toml(config));
  EXPECT_EQ(flatten(load_config({file.path(), {}, {}, {}})), flatten(config));
}

TEST(ConfigTest, StageHashesSeeTheirOwnKeysOnly) {
  const Config a = load_config({kMain, {}, {}, {}});
  const Config b = load_config({kMain, {}, {"train.steps=5", "runtime.deadline_s=5.0"}, {}});
  EXPECT_EQ(stage_hash(a, Stage::kRelease), stage_hash(b, Stage::kRelease));
  EXPECT_NE(stage_hash(a, Stage::kTrain), stage_hash(b, Stage::kTrain));
  EXPECT_EQ(stage_hash(a, Stage::kSample), stage_hash(b, Stage::kSample));
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
