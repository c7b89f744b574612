#include <gtest/gtest.h>

#include <algorithm>

#include "muffle/comm/detachment.hpp"
#include "support/mpi_world.hpp"
#include "train/toy.hpp"
#include "train/toy_start.hpp"

namespace muffle::train {
namespace {

TEST(DataParallelOnMpi, AllRanksFollowOneRank) {
  comm::HostComm& world = test::world();
  for (const test::Toy& toy : test::toy_cases()) {
    const test::Trajectory expected = test::follow_alone(toy);
    const test::Trajectory ours = test::follow(toy, model::host_collective(world));
    EXPECT_LT(test::distance(expected, ours), world.size() == 1 ? 1e-30 : test::kTolerance)
        << "batch " << toy.spec.batch << (toy.spec.unbiased ? ", unbiased" : ", plug-in");
  }
}

/// Two ranks that train while the others wait do what two ranks alone do.
TEST(DataParallelOnMpi, SomeOfTheRanksFollowOneRank) {
  comm::HostComm& world = test::world();
  const test::Toy toy = test::toy(test::kImages, 23, true, false);
  const test::Trajectory expected = test::follow_alone(toy);
  std::vector<bool> works;
  for (int r = 0; r < world.size(); ++r) works.push_back(r >= world.size() - 2);
  comm::Detachment detachment(world, works);
  int steps = 0;
  detachment.run("training", [&](comm::HostComm& mine, const comm::Detachment::Heartbeat& heartbeat) {
    EXPECT_EQ(mine.size(), std::min(2, world.size()));
    DataParallel training = test::training(toy, model::host_collective(mine));
    test::Trajectory ours;
    for (; steps < test::kSteps; ++steps) {
      ours.losses.push_back(training.step());
      EXPECT_FALSE(heartbeat());
    }
    test::add_state(ours, *training.generator());
    EXPECT_LT(test::distance(expected, ours), mine.size() == 1 ? 1e-30 : test::kTolerance);
  });
  EXPECT_EQ(steps, detachment.works() ? test::kSteps : 0);
}

TEST(StartOnMpi, AllRanksFollowOneRank) {
  comm::HostComm& world = test::world();
  const release::Artifact release = test::start_release();
  const test::Trajectory expected = test::follow_start(release, test::alone());
  const test::Trajectory ours = test::follow_start(release, model::host_collective(world));
  EXPECT_LT(test::distance(expected, ours), world.size() == 1 ? 1e-30 : test::kTolerance);
}

TEST(HostCollective, SumsAndBroadcastsTensors) {
  comm::HostComm& world = test::world();
  const auto collective = model::host_collective(world);
  const int ranks = world.size();
  torch::Tensor floats = torch::arange(10, torch::kFloat32) + world.rank();
  torch::Tensor doubles = torch::arange(10, torch::kFloat64) + world.rank();
  collective->all_reduce_sum(floats);
  collective->all_reduce_sum(doubles);
  const torch::Tensor expected = torch::arange(10, torch::kFloat64) * ranks + ranks * (ranks - 1) / 2;
  EXPECT_TRUE(torch::equal(floats.to(torch::kFloat64), expected));
  EXPECT_TRUE(torch::equal(doubles, expected));
  torch::Tensor t = torch::full({2, 3}, world.rank() + 5.0);
  collective->broadcast(t);
  EXPECT_TRUE(torch::equal(t, torch::full({2, 3}, 5.0)));
  torch::Tensor integers = torch::zeros({2}, torch::kInt64),
                strided = torch::zeros({4, 4}).t().slice(0, 0, 2);
  EXPECT_THROW(collective->all_reduce_sum(integers), InvariantError);
  EXPECT_THROW(collective->all_reduce_sum(strided), InvariantError);
}

}  // namespace
}  // namespace muffle::train
