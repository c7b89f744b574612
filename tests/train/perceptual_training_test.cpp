// A training on outputs of a public network, whose file the user has, and on a map without labels.
#include <gtest/gtest.h>

#include "muffle/networks/network_block.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/networks.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

TEST(PerceptualTraining, FindsTheNetworkByItsHashAndFollowsTheRelease) {
  test::Toy toy = test::toy(test::kImages, 60, true);
  toy.spec.steps = 40;
  std::vector<features::NamedMap> maps{
      test::named("deep",
                  test::make_map("perceptual",
                                 {{"network", test::small_network()}, {"pool", "channel"}, {"moments", "2"}},
                                 toy.schema)),
      test::named("texture", test::make_map("perceptual", {{"network", test::small_network()}}, toy.schema))};
  maps[1].labelled = false;
  const std::string digest = std::as_const(*maps[0].map).asset()->digest;
  const torch::Tensor labels = torch::arange(300) % 3,
                      x = torch::sigmoid(test::toy_normal({300, 64}, 2) + 2.0 * (labels.unsqueeze(1) - 1))
                              .contiguous();
  std::vector<std::int32_t> y;
  for (std::int32_t i = 0; i < 300; ++i) y.push_back(i % 3);
  const release::Artifact made =
      test::planned_release(toy.schema, maps, {x.data_ptr<float>(), x.data_ptr<float>() + x.numel()}, y,
                            100.0, 0, networks::make_network_block);
  ASSERT_EQ(made.values.size(), 3 * made.features(0) + made.features(1));
  const std::string bytes = release::artifact_bytes(made);
  const test::TemporaryFolder folder;
  const auto trained = [&](const features::AssetFiles& assets) {
    TrainReport out;
    TrainSetup setup;
    setup.assets = assets;
    test::run_thread_ranks(1, [&](comm::HostComm& comm) {
      out = train(comm, bytes, "release", folder / "model.mfl", *toy.generator, toy.spec, "hash", 1, setup);
    });
    return out;
  };
  test::expect_error(ExitCode::kConfig, {digest, "not at hand"}, [&] { trained({}); });
  const TrainReport report = trained({{digest, test::small_network()}});
  EXPECT_LT(report.last_loss, 0.5 * report.first_loss);
}

}  // namespace
}  // namespace muffle::train
