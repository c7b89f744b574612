// Feature maps in a configuration: sections with names, keys of their kinds, and the keys that there were
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "config_problems.hpp"
#include "muffle/app/config.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/features/lift.hpp"
#include "support/networks.hpp"

namespace muffle::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing_config;

constexpr char kTwoMaps[] = R"(
[data]
features = "x"
labels = "y"
records = 9000
classes = 3
shape = [5]

[map.fine]
kind = "rff"
count = 20
length_scale = 0.5

[map.coarse]
kind = "rff"
weight = 2.0
count = 10
frequencies = "orthogonal"

[privacy]
epsilon = 1.0
delta = 1e-5
max_records_per_person = 1
)";
constexpr Stages kRelease{.release = true};

TEST(ConfigMaps, SeveralOfOneKindLieInTheOrderOfTheirNames) {
  const TemporaryFile file(kTwoMaps);
  const Config config = load_config({file.path(), {}, {}, {}}, kRelease);
  const release::ReleasePlan& plan = config.plan;
  ASSERT_EQ(plan.maps.size(), 2u);
  EXPECT_EQ(plan.maps[0].name, "coarse");
  EXPECT_EQ(plan.maps[0].weight, 2.0);
  EXPECT_EQ(plan.maps[0].map->features(), 10u);
  EXPECT_EQ(plan.maps[1].map->features(), 20u);
  EXPECT_EQ(plan.size(), 90u);
  EXPECT_EQ(flatten(config).at("map.coarse.frequencies"), "\"orthogonal\"");
  EXPECT_EQ(flatten(config).at("map.fine.length_scale"), "0.5");
}

TEST(ConfigMaps, KeysComeFromTheCommandLineAndTheEnvironmentToo) {
  const TemporaryFile file(kTwoMaps);
  ConfigSources sources{file.path(), {}, {}, {}};
  const auto count = [&] { return load_config(sources, kRelease).plan.maps.at(1).map->features(); };
  EXPECT_EQ(count(), 20u);
  sources.environment["MUFFLE_MAP__FINE__COUNT"] = "30";
  EXPECT_EQ(count(), 30u);
  sources.set.push_back("map.fine.count=40");
  EXPECT_EQ(count(), 40u);
  // A map that no file names, its keys in whatever order.
  sources.set = {"map.more.count=6", "map.more.role=proxy", "map.more.kind=rff"};
  sources.environment = {{"MUFFLE_MAP__OTHER__LIFT", "fourier"},
                         {"MUFFLE_MAP__OTHER__COEFFICIENTS", "8"},
                         {"MUFFLE_MAP__OTHER__KIND", "moments"}};
  const release::ReleasePlan plan = load_config(sources, kRelease).plan;
  ASSERT_EQ(plan.maps.size(), 4u);
  EXPECT_EQ(plan.proxy(), 2u);
  EXPECT_EQ(plan.maps[3].map->second_moments()->moments().lift->coefficients(), 8u);
  // Another kind in a later source: the earlier one's keys are unknown then.
  sources = {file.path(), {}, {"map.fine.kind=moments"}, {}};
  EXPECT_THAT(problem_with(sources, kRelease), HasSubstr("unknown key 'map.fine.count'"));
}

TEST(ConfigMaps, WhatIsMisspeltIsRefusedWithWhatThereIs) {
  const TemporaryFile file(kTwoMaps);
  const auto problem = [&](std::vector<std::string> set) {
    return problem_with({file.path(), {}, std::move(set), {}}, kRelease);
  };
  for (const std::string& kind : names_of(features::map_kinds()))
    EXPECT_THAT(problem({"map.fine.kind=wavelets"}), HasSubstr("\"" + kind + "\""));
  EXPECT_THAT(problem({"map.fine.cuont=2"}), HasSubstr("did you mean 'map.fine.count'"));
  EXPECT_THAT(problem({"map.fine.role=judge"}), AllOf(HasSubstr("map.fine.role"), HasSubstr("proxy")));
  EXPECT_THAT(problem({"map.x.kind=moments", "map.x.lift=wavelets"}), HasSubstr("\"hermite\""));
  EXPECT_THAT(problem({"map.x.weight=2"}), AllOf(HasSubstr("[map.x]"), HasSubstr("no kind")));
  for (const char* name : {"Fine", "a b", "1st", "a_b"})
    EXPECT_THAT(problem({"map." + std::string(name) + ".kind=rff"}),
                HasSubstr("is no name of a feature map"));
  EXPECT_THAT(problem({"map.x.kind=rff"}), AllOf(HasSubstr("[map.x]"), HasSubstr("count is 0")));
  EXPECT_THAT(problem({"map.fine.count=7"}), HasSubstr("must be even"));
  EXPECT_THAT(problem({"map.a.kind=moments", "map.a.lift=image"}),
              AllOf(HasSubstr("[map.a]"), HasSubstr("shape")));
  const TemporaryFile none("[map.empty]\n[privacy]\nepsilon = 1.0\n");
  EXPECT_THAT(problem_with({none.path(), {}, {}, {}}, kRelease), Not(HasSubstr("unknown section")));
  EXPECT_THAT(problem_with({{}, {}, {"data.shape=[5]"}, {}}, kRelease), HasSubstr("no feature map"));
}

TEST(ConfigMaps, AConfigurationWithANetworkNeedsItsFileToRelease) {
  const std::string file = shipped("networks/cifar-10-perceptual.toml");
  EXPECT_THAT(problem_with({file, {}, {"map.perceptual.network=nowhere.pt"}, {}}, kRelease),
              HasSubstr("'nowhere.pt'"));
  EXPECT_EQ(problem_with({file, {}, {"map.perceptual.network=nowhere.pt"}, {}}, {.sample = true}), "");
  const Config config = load_config(
      {file, {}, {"map.perceptual.network=" + test::small_network(), "map.perceptual.resize=bilinear"}, {}},
      kRelease);
  const release::ReleasePlan& plan = config.plan;
  EXPECT_EQ(plan.size(), 10u * (4 * 64 + 5 * 16));
  EXPECT_TRUE(plan.maps[0].bound().nonnegative_kernel);
  const features::AssetFiles files = config.features.assets(config.data.schema);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files.begin()->second, test::small_network());
}

TEST(ConfigMaps, ResolvedConfigurationsReadBackTheSame) {
  for (const char* name : {"fashion-mnist.toml", "fashion-mnist-moments.toml", "fashion-mnist-init.toml",
                           "gaussian-mixture-2d-moments.toml"}) {
    const Config config =
        load_config({shipped(name), {}, {"privacy.epsilon=9.0", "train.learning_rate=0.003"}, {}});
    const TemporaryFile file(to_toml(flatten(config)));
    const Config again = load_config({file.path(), {}, {}, {}});
    EXPECT_EQ(flatten(again), flatten(config)) << name;
    for (const Stage stage : {Stage::kRelease, Stage::kTrain, Stage::kSample, Stage::kEvaluate})
      EXPECT_EQ(stage_hash(again, stage), stage_hash(config, stage)) << name;
    EXPECT_EQ(settings_in(file.path()), flatten(config)) << name;
  }
}

TEST(ConfigMaps, EveryKeyOfAMapBelongsToTheRelease) {
  const Config plain = load_config({kMain, {}, {}, {}});
  for (const char* setting :
       {"map.rff.seed=9", "map.rff.weight=2.0", "map.x.kind=moments", "features.lattice_bits=23"}) {
    const Config other = load_config({kMain, {}, {setting}, {}});
    EXPECT_NE(stage_hash(plain, Stage::kRelease), stage_hash(other, Stage::kRelease)) << setting;
    EXPECT_EQ(stage_hash(plain, Stage::kTrain), stage_hash(other, Stage::kTrain)) << setting;
  }
}

TEST(ConfigMaps, TheListOfKeysHasThoseOfEveryKind) {
  const std::string keys = describe_keys();
  for (const features::MapKind& kind : features::map_kinds())
    EXPECT_THAT(keys, AllOf(HasSubstr("kind = \"" + std::string(kind.name) + "\""),
                            HasSubstr(std::string(kind.summary))));
  for (const features::LiftKind& lift : features::lift_kinds())
    EXPECT_THAT(keys, HasSubstr("lift = \"" + std::string(lift.name) + "\""));
  for (const char* key : {"map.NAME.count", "map.NAME.blob_height", "map.NAME.role"})
    EXPECT_THAT(keys, HasSubstr(key));
}

TEST(ConfigMaps, TheClosedFormNeedsMomentsItCanDrawFrom) {
  const std::string images = shipped("fashion-mnist-moments.toml");
  const auto problem = [&](std::vector<std::string> set) {
    return problem_with({images, {}, std::move(set), {}});
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_THAT(problem({"map.moments.role=proxy", "map.rff.kind=rff", "map.rff.count=10"}),
              HasSubstr("second moments"));
  EXPECT_THAT(problem({"map.moments.lift=\"fourier\""}), HasSubstr("at most 3 numbers"));
  EXPECT_THAT(problem({"model.plain_share=1.5"}), HasSubstr("plain_share"));
  EXPECT_THAT(problem({"model.plain_share=nan"}), HasSubstr("plain_share"));
}

TEST(ConfigMaps, RecordsAreMatchedByGaussianKernelsAlone) {
  const auto problem = [&](std::vector<std::string> set, Stages stages = Stages::all()) {
    set.emplace_back("train.match=records");
    return problem_with({kMain, {}, std::move(set), {}}, stages);
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({"map.fast.kind=structured-rff", "map.fast.count=200"}), "");
  EXPECT_THAT(problem({"map.other.kind=hermite-sum"}),
              AllOf(HasSubstr("Gaussian kernels"), HasSubstr("\"other\"")));
  EXPECT_THAT(problem({"model.generator=moments"}), HasSubstr("trains a network"));
  for (const char* other : {"train.average_rate=0.1", "train.credible=true", "train.cuda_graph=true"})
    EXPECT_THAT(problem({other}), HasSubstr("without noise")) << other;
  EXPECT_THAT(problem({"train.batch=20000"}), HasSubstr("all pairs"));
  EXPECT_THAT(problem({"data.shards=per-rank", "data.features=x-{rank}", "data.labels=y-{rank}"}),
              HasSubstr("train.match"));
  const Stages train{.train = true};
  EXPECT_EQ(problem({}, train), "");
  EXPECT_THAT(problem({"data.features=\"\""}, train), HasSubstr("data.features"));
}

TEST(ConfigMaps, AStartFromTheClosedFormNeedsItsThreeMaps) {
  const std::string start = shipped("fashion-mnist-init.toml");
  const auto problem = [&](std::vector<std::string> set) {
    return problem_with({start, {}, std::move(set), {}});
  };
  const Config config = load_config({start, {}, {}, {}});
  const release::ReleasePlan& plan = config.plan;
  ASSERT_EQ(plan.maps.size(), 3u);
  EXPECT_EQ(plan.proxy(), 1u);
  EXPECT_EQ(plan.second_moments(), 0u);
  EXPECT_EQ(plan.maps[0].map->second_moments()->moments().lift->coefficients(), 196u);
  EXPECT_NE(plan.maps[1].map->hash(), plan.maps[2].map->hash());
  // The moments lose a few per cent to the other two.
  const double own = plan.maps[0].weight, sensitivity = plan.noise.sensitivity.value;
  EXPECT_NEAR(sensitivity, std::sqrt(2 * own * own + 4 + 4 * plan.maps[1].weight * plan.maps[1].weight),
              1e-9);
  EXPECT_LT(sensitivity / own, 1.06 * std::sqrt(2.0));

  EXPECT_THAT(problem({"map.proxy.role=match"}), HasSubstr("role = \"proxy\""));
  EXPECT_THAT(problem({"map.rff.role=proxy", "map.proxy.role=match"}), "");
  EXPECT_THAT(problem({"map.rff.role=proxy"}), HasSubstr("proxy"));
  EXPECT_THAT(problem({"map.proxy.seed=1", "map.proxy.count=4000"}), HasSubstr("features of its own"));
  EXPECT_THAT(problem({"map.proxy.count=11"}), AllOf(HasSubstr("[map.proxy]"), HasSubstr("even")));
  EXPECT_THAT(problem({"map.moments.lift=\"fourier\""}), HasSubstr("starts from moments whose lift"));
  EXPECT_THAT(problem({"model.generator=\"moments\""}), HasSubstr("needs no training"));
  EXPECT_EQ(problem({"train.keep=trained"}), "");
  EXPECT_THAT(problem({"train.keep=trained", "train.init=random"}), HasSubstr("train.keep = \"trained\""));
  EXPECT_EQ(problem({"train.choose_every=50"}), "");
  EXPECT_EQ(problem({"train.credible=true", "train.init=random"}), "");
  EXPECT_THAT(problem({"train.credible=true"}), HasSubstr("train.credible"));
  EXPECT_EQ(problem({"train.choose_every=50", "train.init=random"}), "");
  EXPECT_EQ(problem({"train.choose_every=50", "train.init=random", "map.proxy.role=match"}), "");
  ConfigSources sources{kMain, {}, {}, {{"train.init", "moments"}}};
  EXPECT_THAT(problem_with(sources), HasSubstr("train.init = \"moments\" needs three feature maps"));
}

TEST(ConfigMaps,
     CoefficientsFollowFromThePublicNoise) {  // the figures: ReleasePlan.SizesFollowThePublicNoise
  const std::string images = shipped("fashion-mnist-moments.toml");
  const auto side = [&](std::vector<std::string> set) {
    return flatten(load_config({images, {}, std::move(set), {}})).at("map.moments.coefficients");
  };
  EXPECT_EQ(side({}), "14");
  EXPECT_EQ(side({"privacy.epsilon=10"}), "20");
  EXPECT_EQ(side({"privacy.epsilon=10", "map.moments.coefficients=9"}), "9") << "no more than is written";
  EXPECT_EQ(side({"privacy.epsilon=10", "map.moments.lift=auto"}), "20");
}

TEST(ConfigMaps, SumsOfAPrivateNumberOfRecordsHaveRoom) {
  const std::string images = shipped("fashion-mnist-moments.toml");
  const std::vector<std::string> hidden{"privacy.adjacency=add-remove-one", "data.records=0"};
  EXPECT_EQ(problem_with({images, {}, hidden, {}}), "");
  auto wide = hidden;
  wide.push_back("map.moments.bits=17");
  EXPECT_THAT(problem_with({images, {}, wide, {}}), AllOf(HasSubstr("map.moments"), HasSubstr("bits")));
  EXPECT_EQ(problem_with({images, {}, {"map.moments.bits=17"}, {}}), "")
      << "where m is public it is compared with it";
}

TEST(ConfigMaps, AClosedFormLargerThanAFileIsRefused) {
  const std::string images = shipped("fashion-mnist-moments.toml");
  const std::vector<std::string> large{"data.shape=[1, 256, 256]", "map.moments.fewest_coefficients=60",
                                       "data.classes=60", "map.moments.bits=18", "evaluate.metrics=[]"};
  EXPECT_THAT(problem_with({images, {}, large, {}}), HasSubstr("larger than a model file"));
}

}  // namespace
}  // namespace muffle::app
