// What maps count in the objective (TrainSpec::loss_weights): apart from what the release spends on them.
#include <gtest/gtest.h>

#include "muffle/core/files.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

class LossWeights : public ::testing::Test {
 protected:
  LossWeights() : bytes_(release::artifact_bytes(test::release_of(toy_, {2.0, 0.5}))) { toy_.spec.steps = 3; }

  /// The first step's loss of a release of the maps m0 and m1.
  double first_loss(std::vector<std::string> weights) {
    toy_.spec.loss_weights = std::move(weights);
    const test::TemporaryFolder folder;
    TrainReport out;
    test::run_thread_ranks(1, [&](comm::HostComm& comm) {
      out = train(comm, bytes_, "release", folder / "model.mfl", *toy_.generator, toy_.spec, "hash", 1);
    });
    model_ = read_file(folder / "model.mfl");
    return out.first_loss;
  }

  test::Toy toy_ = test::toy(test::kColumns, 50, true);
  std::string bytes_, model_;
};

TEST_F(LossWeights, AreFactorsOfEachMapsSquaredDistance) {
  const double both = first_loss({});
  const std::string model = model_;
  EXPECT_EQ(first_loss({"m0=1", "m1=1"}), both) << "a weight of 1 in the release";
  EXPECT_EQ(model_, model);
  const double tripled = first_loss({"m0=3"}), tenth = first_loss({"m1=0.1"});
  EXPECT_NE(model_, model);
  const double first = (tripled - both) / 2, second = (both - tenth) / 0.9;
  EXPECT_GT(first, 0.0);
  EXPECT_GT(second, 0.0);
  EXPECT_NEAR(first + second, both, 1e-6 * both);
  EXPECT_NEAR(first_loss({"m0=3", "m1=0.1"}), 3 * first + 0.1 * second, 1e-6 * both);
}

TEST_F(LossWeights, OfMapsThatAreNotTrainedOnAreRefused) {
  for (const auto& wrong : {std::vector<std::string>{"m2=1"}, {"m0=1", "m0=2"}})
    test::expect_error(ExitCode::kConfig, {"train.loss_weights", wrong.back().substr(0, 2)},
                       [&] { first_loss(wrong); });
}

TEST(LossWeight, IsTheSquareOfTheReleasesUnlessItIsSaid) {
  features::NamedMap map;
  map.name = "product";
  map.weight = 0.3;
  EXPECT_EQ(loss_weight({}, map), 0.3 * 0.3);
  EXPECT_EQ(loss_weight({.loss_weights = {"sum=4", "product=0.25"}}, map), 0.25);
}

}  // namespace
}  // namespace muffle::train
