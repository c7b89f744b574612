// Training on GPUs: the same trajectory as on the CPU up to float32 rounding, with and without a CUDA graph,
// on one rank, on ranks that share a GPU, and on a GPU a rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/thread_comm.hpp"
#include "train/device.hpp"
#include "train/toy.hpp"

namespace muffle::train {
namespace {

#define MUFFLE_NEEDS_GPUS(n)                                                                     \
  if (torch_gpus() < (n)) {                                                                      \
    GTEST_SKIP() << "needs " << (n) << " GPU(s), and LibTorch sees " << torch_gpus() << " here"; \
  }

/// A GPU rounds sines, products and sums otherwise than a CPU; Adam amplifies that where gradients are near
/// zero (toy.hpp). A wrong sum moves parameters by 0.01 and more.
constexpr double kGpuTolerance = 5 * test::kTolerance;

struct Followed {
  test::Trajectory trajectory;
  bool used_graph = false;
  std::vector<comm::CollectiveUse> use;
};

Followed follow_on_gpu(const test::Toy& toy, comm::HostComm& comm, TrainSetup setup) {
  const Placement placement = place(comm, setup);
  DataParallel training(toy.generator, toy.spec, toy.frequencies.to(placement.device), toy.target,
                        placement.collective);
  if (setup.cuda_graph) training.use_graph();
  Followed out;
  for (int i = 0; i < test::kSteps; ++i) out.trajectory.losses.push_back(training.step());
  out.used_graph = training.used_graph();
  EXPECT_EQ(training.disagreement(), 0.0);
  for (const auto& t : training.checkpoint().tensors) EXPECT_FALSE(t.values.empty());
  test::add_state(out.trajectory, *training.generator());
  for (auto& [name, tensor] : out.trajectory.state) tensor = tensor.cpu();
  out.use = placement.collective->use();
  placement.collective->finish();  // before `training`, and its graph: as train() does
  return out;
}

TEST(TrainingOnGpu, FollowsTheCpu) {
  MUFFLE_NEEDS_GPUS(1);
  const auto alone = comm::single_process();
  for (const test::ToyCase& c : test::toy_cases()) {
    const test::Toy toy = test::toy(c.kind, c.batch, c.stratified, c.unbiased);
    const test::Trajectory expected = test::follow(toy, model::host_collective(*alone), test::kSteps);
    const Followed ours = follow_on_gpu(toy, *alone, {.gpu = 0});
    EXPECT_LT(test::distance(expected, ours.trajectory), kGpuTolerance) << "batch " << c.batch;
    EXPECT_FALSE(ours.used_graph);
  }
}

TEST(TrainingOnGpu, AGraphTakesTheSameSteps) {
  MUFFLE_NEEDS_GPUS(1);
  const auto alone = comm::single_process();
  for (const test::ToyCase& c : test::toy_cases()) {
    const test::Toy toy = test::toy(c.kind, c.batch, c.stratified, c.unbiased);
    const Followed plain = follow_on_gpu(toy, *alone, {.gpu = 0});
    const Followed graph = follow_on_gpu(toy, *alone, {.gpu = 0, .cuda_graph = true});
    EXPECT_TRUE(graph.used_graph) << "it was not captured: the log says why";
    EXPECT_LT(test::distance(plain.trajectory, graph.trajectory), kGpuTolerance) << "batch " << c.batch;
  }
}

TEST(TrainingOnGpu, ARankAloneCanCaptureItsSumsOverNcclAndEnd) {
  MUFFLE_NEEDS_GPUS(1);
  const auto alone = comm::single_process();
  const test::Toy toy = test::toy(model::GeneratorKind::kConvolutional, 23, true, false);
  const Followed plain = follow_on_gpu(toy, *alone, {.gpu = 0});
  for (const bool graph : {false, true}) {
    const Followed nccl = follow_on_gpu(toy, *alone, {.gpu = 0, .cuda_graph = graph, .nccl_alone = true});
    EXPECT_EQ(nccl.used_graph, graph);
    EXPECT_LT(test::distance(plain.trajectory, nccl.trajectory), kGpuTolerance);
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
  const test::Toy toy = test::toy(model::GeneratorKind::kConvolutional, 23, true, false);
  const auto alone = comm::single_process();
  const test::Trajectory expected = test::follow(toy, model::host_collective(*alone), test::kSteps);
  test::run_thread_ranks(
      2,
      [&](comm::HostComm& comm) {
        const Followed ours = follow_on_gpu(toy, comm, {.gpu = 0, .shared_gpus = true, .cuda_graph = true});
        EXPECT_FALSE(ours.used_graph) << "sums through host memory cannot be captured";
        EXPECT_LT(test::distance(expected, ours.trajectory), kGpuTolerance);
      },
      std::chrono::minutes(2));
}

TEST(TrainingOnTwoGpus, AGpuARankOverNcclFollowsOneRank) {
  MUFFLE_NEEDS_GPUS(2);
  const auto alone = comm::single_process();
  for (const bool graph : {false, true}) {
    const test::Toy toy = test::toy(model::GeneratorKind::kConvolutional, 23, true, false);
    const test::Trajectory expected = test::follow(toy, model::host_collective(*alone), test::kSteps);
    test::run_thread_ranks(
        2,
        [&](comm::HostComm& comm) {
          const Followed ours = follow_on_gpu(toy, comm, {.gpu = comm.rank(), .cuda_graph = graph});
          EXPECT_EQ(ours.used_graph, graph);
          EXPECT_LT(test::distance(expected, ours.trajectory), kGpuTolerance);
        },
        std::chrono::minutes(2));
  }
}

TEST(TrainingOnGpu, WithoutOneTheReasonIsSaid) {
  EXPECT_EQ(why_no_torch_gpus().empty(), torch_gpus() > 0);
  const auto alone = comm::single_process();
  EXPECT_THROW(place(*alone, {.gpu = 100}), Error);
}

}  // namespace
}  // namespace muffle::train
