// Training with a GPU a rank, over NCCL: ranks are processes, as NCCL wants them where graphs are recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mpi_world.hpp"
#include "train/gpu_follow.hpp"

namespace muffle::train {
namespace {

TEST(TrainingOnTwoGpus, AGpuARankOverNcclFollowsOneRank) {
  MUFFLE_NEEDS_GPUS(2);
  comm::HostComm& world = test::world();
  const test::Toy toy = test::toy(test::kImages, 23, true, false);
  const test::Trajectory expected = test::follow_alone(toy);
  for (const bool graph : {false, true}) {
    const test::Followed ours = test::follow_on_gpu(toy, world, {.gpu = world.rank(), .cuda_graph = graph});
    EXPECT_EQ(ours.used_graph, graph);
    EXPECT_LT(test::distance(expected, ours.trajectory), test::kGpuTolerance);
  }
}

}  // namespace
}  // namespace muffle::train
