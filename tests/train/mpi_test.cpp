#include <gtest/gtest.h>

#include "support/mpi_world.hpp"
#include "train/toy.hpp"
#include "train/toy_start.hpp"

namespace muffle::train {
namespace {

TEST(DataParallelOnMpi, AllRanksFollowOneRank) {
  comm::HostComm& world = test::world();
  for (const test::ToyCase& c : test::toy_cases()) {
    const test::Toy toy = test::toy(c.kind, c.batch, c.stratified, c.unbiased);
    const auto alone = comm::single_process();
    const test::Trajectory expected = test::follow(toy, model::host_collective(*alone), test::kSteps);
    const test::Trajectory ours = test::follow(toy, model::host_collective(world), test::kSteps);
    EXPECT_LT(test::distance(expected, ours), world.size() == 1 ? 1e-30 : test::kTolerance)
        << "batch " << c.batch << (c.unbiased ? ", unbiased" : ", plug-in");
  }
}

TEST(StartOnMpi, AllRanksFollowOneRank) {
  comm::HostComm& world = test::world();
  const embed::Artifact release = test::start_release();
  const auto alone = comm::single_process();
  const test::Trajectory expected = test::follow_start(release, model::host_collective(*alone), test::kSteps);
  const test::Trajectory ours = test::follow_start(release, model::host_collective(world), test::kSteps);
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
