// Settings of second moments, and of the generators that follow from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

TEST(ConfigTest, TheClosedFormNeedsMomentsItCanDrawFrom) {
  const std::string images = shipped("fashion-mnist-moments.toml");
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
  const std::string start = shipped("fashion-mnist-init.toml");
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
  ConfigSources sources{shipped("fashion-mnist.toml"), {}, {}, {{"train.init", "moments"}}};
  EXPECT_THAT(problem_with(sources), HasSubstr("train.init = \"moments\" needs features.blocks"));
}

TEST(ConfigTest, CoefficientsFollowFromThePublicNoise) {
  const std::string images = shipped("fashion-mnist-moments.toml");
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
  const std::string images = shipped("fashion-mnist-moments.toml");
  const std::vector<std::string> hidden{"privacy.adjacency=add-remove-one", "data.records=0"};
  EXPECT_EQ(problem_with({images, {}, hidden, {}}), "");
  auto wide = hidden;
  wide.push_back("moments.bits=17");
  EXPECT_THAT(problem_with({images, {}, wide, {}}), HasSubstr("moments.bits is 17"));
  EXPECT_EQ(problem_with({images, {}, {"moments.bits=17"}, {}}), "")
      << "where m is public it is compared with it";
}

TEST(ConfigTest, AClosedFormLargerThanAFileIsRefused) {
  const std::string images = shipped("fashion-mnist-moments.toml");
  const std::vector<std::string> large{"data.shape=[1, 256, 256]", "moments.coefficients=60",
                                       "data.classes=60", "moments.bits=18", "evaluate.metrics=[]"};
  EXPECT_THAT(problem_with({images, {}, large, {}}), HasSubstr("larger than a model file"));
}

}  // namespace
}  // namespace muffle::app
