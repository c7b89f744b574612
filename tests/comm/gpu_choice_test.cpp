#include "muffle/comm/gpu_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "muffle/core/error.hpp"

namespace muffle::comm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A machine whose ranks all see the same GPUs.
void add_host(std::vector<GpuView>& views, const std::string& host, int ranks, int gpus) {
  for (int r = 0; r < ranks; ++r) {
    GpuView& v = views.emplace_back();
    v.host = host;
    v.local_rank = r;
    for (int g = 0; g < gpus; ++g) v.gpus.push_back(host + "-gpu" + std::to_string(g));
    if (gpus == 0) v.why_none = "CUDA sees no GPU";
  }
}

GpuChoice choose(const std::vector<GpuView>& views, DeviceWish wish, bool sharing = false) {
  std::vector<int> numbers(views.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return choose_gpus(views, numbers, wish, sharing, "train.device");
}

std::string refusal(const std::vector<GpuView>& views, DeviceWish wish) {
  try {
    choose(views, wish);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "(not refused)";
}

TEST(GpuChoice, ARankAGpuOnEveryHost) {
  std::vector<GpuView> views;
  add_host(views, "a", 2, 2);
  add_host(views, "b", 3, 4);
  for (const auto wish : {DeviceWish::kAuto, DeviceWish::kCuda}) {
    const GpuChoice c = choose(views, wish);
    EXPECT_TRUE(c.on_gpus());
    EXPECT_FALSE(c.shared);
    EXPECT_THAT(c.device, ElementsAre(0, 1, 0, 1, 2));
  }
  EXPECT_FALSE(choose(views, DeviceWish::kCpu).on_gpus());
}

TEST(GpuChoice, LaunchersThatShowEachRankItsOwnGpu) {
  std::vector<GpuView> views;
  add_host(views, "a", 3, 1);
  for (std::size_t i = 0; i < 3; ++i) views[i].gpus = {"gpu" + std::to_string(i)};
  const GpuChoice c = choose(views, DeviceWish::kCuda);
  EXPECT_THAT(c.device, ElementsAre(0, 0, 0));
  EXPECT_FALSE(c.shared);
}

TEST(GpuChoice, FewerGpusThanRanksAreRefusedUnlessSharingIsAllowed) {
  std::vector<GpuView> views;
  add_host(views, "a", 3, 2);
  for (const auto wish : {DeviceWish::kAuto, DeviceWish::kCuda}) {
    const std::string message = refusal(views, wish);
    EXPECT_THAT(message, HasSubstr("ranks 0, 2 would share one GPU (host a"));
    EXPECT_THAT(message, HasSubstr("runtime.share_gpus"));
  }
  const GpuChoice c = choose(views, DeviceWish::kCuda, true);
  EXPECT_TRUE(c.shared);
  EXPECT_THAT(c.device, ElementsAre(0, 1, 0));
}

TEST(GpuChoice, GpusThatWerePromisedAndAreNotThere) {
  std::vector<GpuView> views;
  add_host(views, "a", 1, 1);
  add_host(views, "b", 2, 0);
  EXPECT_THAT(refusal(views, DeviceWish::kCuda),
              HasSubstr("ranks 1, 2 have none (host b: CUDA sees no GPU)"));
  const GpuChoice c = choose(views, DeviceWish::kAuto);
  EXPECT_FALSE(c.on_gpus());
  EXPECT_TRUE(c.warn);
  EXPECT_THAT(c.told, HasSubstr("ranks 1, 2 have no GPU"));
}

TEST(GpuChoice, WithoutAnyGpuTheCpuIsTakenAndTheReasonSaid) {
  std::vector<GpuView> views;
  add_host(views, "a", 2, 0);
  views[0].why_none = "this muffle was built without CUDA";
  const GpuChoice c = choose(views, DeviceWish::kAuto);
  EXPECT_FALSE(c.on_gpus());
  EXPECT_FALSE(c.warn);
  EXPECT_EQ(c.told, "on CPUs: this muffle was built without CUDA");
  EXPECT_THAT(refusal(views, DeviceWish::kCuda), HasSubstr("built without CUDA"));
}

TEST(TrainingRanks, AllSomeOrThoseWithAGpu) {
  using Kind = RankWish::Kind;
  std::vector<GpuView> views;
  add_host(views, "a", 2, 0);  // ranks that hold records
  add_host(views, "b", 3, 2);
  EXPECT_THAT(training_ranks({Kind::kAll}, views, false), ElementsAre(true, true, true, true, true));
  EXPECT_THAT(training_ranks({Kind::kWithGpu}, views, false), ElementsAre(false, false, true, true, false));
  EXPECT_THAT(training_ranks({Kind::kWithGpu}, views, true), ElementsAre(false, false, true, true, true));
  EXPECT_THAT(training_ranks({Kind::kFirst, 2}, views, false), ElementsAre(true, true, false, false, false));
  EXPECT_THAT(training_ranks({Kind::kFirst, 5}, views, false), ElementsAre(true, true, true, true, true));
  EXPECT_THROW(training_ranks({Kind::kFirst, 6}, views, false), ConfigError);
  EXPECT_THROW(training_ranks({Kind::kFirst, 0}, views, false), ConfigError);
  std::vector<GpuView> none;
  add_host(none, "a", 2, 0);
  EXPECT_THAT(training_ranks({Kind::kWithGpu}, none, false), ElementsAre(true, true));
}

}  // namespace
}  // namespace muffle::comm
