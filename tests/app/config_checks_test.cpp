// Settings that mean nothing, that contradict each other, or that a later stage cannot use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config_problems.hpp"
#include "muffle/app/config.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;
using namespace testing_config;

TEST(ConfigTest, EveryProblemIsReportedAtOnce) {
  const std::string text = problem_with(
      {kMain, {}, {"train.steps=0", "privacy.delta=\"x\"", "data.shards=\"odd\"", "map.rff.count=7.5"}, {}});
  for (const char* part : {"4 problems", "train.steps", "privacy.delta", "data.shards", "map.rff.count"}) {
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
  for (const char* setting : {"data.shape=[28, 28]",
                              "data.lo=255.0",
                              "data.features=\"x-{rank}\"",
                              "data.labels=\"y-{rank}\"",
                              "data.shards=per-rank",
                              "data.records=0",
                              "sample.formats=[]",
                              "sample.labels=\"released-counts\"",
                              "privacy.adjacency=\"add-remove-one\"",
                              "train.batch=1",
                              "train.decay=0.0",
                              "train.decay=1.5",
                              "train.decay_every=0",
                              "train.learning_rate=nan",
                              "train.loss_weights=[\"rff\"]",
                              "train.loss_weights=[\"rff=0\"]",
                              "train.loss_weights=[\"rff=nan\"]",
                              "train.loss_weights=[\"other=1\"]",
                              "train.loss_weights=[\"rff=1\", \"rff=2\"]",
                              "map.rff.length_scale=0.0",
                              "map.rff.length_scale=nan",
                              "map.rff.count=7",
                              "map.rff.role=proxy",
                              "map.rff.weight=0.0",
                              "runtime.deadline_s=0.0",
                              "runtime.deadline_s=nan",
                              "features.lattice_bits=25",
                              "data.records=70368744177664",
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
                              "map.rff.count=67108864",
                              "map.rff.length_scale=inf",
                              "map.rff.length_scale=1e21",
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
                              "sample.formats=[\"png\"]",
                              "evaluate.classifiers=[]",
                              "evaluate.classifiers=[\"mlp\", \"mlp\"]",
                              "evaluate.train_limit=9",
                              "evaluate.metrics=[\"mixture-nll\"]",
                              "data.test_labels=\"\"",
                              "data.encoding=\"latin-42\"",
                              "data.arrays=[\"x\"]",
                              "data.test_arrays=[\"x\"]",
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
  const std::vector<std::string> release{"data.features=x",    "data.labels=y",
                                         "data.records=90",    "data.classes=3",
                                         "data.shape=[5]",     "map.x.kind=rff",
                                         "map.x.count=10",     "privacy.epsilon=1.0",
                                         "privacy.delta=1e-5", "privacy.max_records_per_person=1"};
  EXPECT_EQ(problem_with({{}, {}, release, {}}, {.release = true}), "");
  EXPECT_THAT(problem_with({{}, {}, release, {}}), HasSubstr("convolutional"));
  auto settings = release;
  settings.push_back("model.generator=fully-connected");
  EXPECT_EQ(problem_with({{}, {}, settings, {}}), "");
  EXPECT_THAT(problem_with({{}, {}, settings, {}}, {.evaluate = true}), HasSubstr("data.test_features"));
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

}  // namespace
}  // namespace muffle::app
