// Training on a GPU: the same trajectory as on the CPU up to float32 rounding, with and without a CUDA graph,
// on one rank and on ranks that share the GPU. (A GPU a rank: gpu_mpi_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/thread_comm.hpp"
#include "train/gpu_follow.hpp"

namespace muffle::train {
namespace {

TEST(TrainingOnGpu, FollowsTheCpuAndAGraphTakesTheSameSteps) {
  MUFFLE_NEEDS_GPUS(1);
  const auto alone = comm::single_process();
  for (const test::Toy& toy : test::toy_cases()) {
    const test::Trajectory expected = test::follow_alone(toy);
    const test::Followed ours = test::follow_on_gpu(toy, *alone, {.gpu = 0});
    EXPECT_LT(test::distance(expected, ours.trajectory), test::kGpuTolerance) << "batch " << toy.spec.batch;
    EXPECT_FALSE(ours.used_graph);
    const test::Followed graph = test::follow_on_gpu(toy, *alone, {.gpu = 0, .cuda_graph = true});
    EXPECT_TRUE(graph.used_graph) << "it was not captured: the log says why";
    EXPECT_LT(test::distance(ours.trajectory, graph.trajectory), test::kGpuTolerance)
        << "batch " << toy.spec.batch;
  }
}

/// Of one rank NCCL starts no kernel: what is recorded are the fork and join of the sums' stream. (NCCL's own
/// operations in a graph: gpu_mpi_test.cpp, on two GPUs.)
TEST(TrainingOnGpu, ARankAloneCanCaptureItsSumsOverNcclAndEnd) {
  MUFFLE_NEEDS_GPUS(1);
  const auto alone = comm::single_process();
  const test::Toy toy = test::toy(test::kImages, 23, true, false);
  const test::Followed plain = test::follow_on_gpu(toy, *alone, {.gpu = 0});
  for (const bool graph : {false, true}) {
    const test::Followed nccl =
        test::follow_on_gpu(toy, *alone, {.gpu = 0, .cuda_graph = graph, .nccl_alone = true});
    EXPECT_EQ(nccl.used_graph, graph);
    EXPECT_LT(test::distance(plain.trajectory, nccl.trajectory), test::kGpuTolerance);
    std::uint64_t calls = 0;
    bool in_graph = false;
    for (const auto& use : nccl.use) {
      if (!use.name.starts_with("NCCL all_reduce_sum")) continue;
      calls += use.calls;
      in_graph = in_graph || !use.timed;
      EXPECT_EQ(use.timed, use.seconds > 0) << use.name;
    }
    EXPECT_GE(calls, 2u * test::kSteps) << "embeddings and gradients, replayed or not";
    EXPECT_EQ(in_graph, graph);
  }
}

TEST(TrainingOnGpu, RanksThatShareAGpuFollowOneRank) {
  MUFFLE_NEEDS_GPUS(1);
  const test::Toy toy = test::toy(test::kImages, 23, true, false);
  const test::Trajectory expected = test::follow_alone(toy);
  test::run_thread_ranks(
      2,
      [&](comm::HostComm& comm) {
        const test::Followed ours =
            test::follow_on_gpu(toy, comm, {.gpu = 0, .shared_gpus = true, .cuda_graph = true});
        EXPECT_FALSE(ours.used_graph) << "sums through host memory cannot be captured";
        EXPECT_LT(test::distance(expected, ours.trajectory), test::kGpuTolerance);
      },
      std::chrono::minutes(2));
}

TEST(TrainingOnGpu, WithoutOneTheReasonIsSaid) {
  EXPECT_EQ(why_no_torch_gpus().empty(), torch_gpus() > 0);
  const auto alone = comm::single_process();
  EXPECT_THROW(place(*alone, {.gpu = 100}), Error);
}

}  // namespace
}  // namespace muffle::train
