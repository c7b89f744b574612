#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "train/device.hpp"
#include "train/toy.hpp"

namespace muffle::test {

#define MUFFLE_NEEDS_GPUS(n)                                                                          \
  if (::muffle::train::torch_gpus() < (n)) {                                                          \
    GTEST_SKIP() << "needs " << (n) << " GPU(s), and LibTorch sees " << ::muffle::train::torch_gpus() \
                 << " here";                                                                          \
  }

/// A GPU rounds sines, products and sums otherwise than a CPU; Adam amplifies that where gradients are near
/// zero (toy.hpp). A wrong sum moves parameters by 0.01 and more.
inline constexpr double kGpuTolerance = 5 * kTolerance;

struct Followed {
  Trajectory trajectory;
  bool used_graph = false;
  std::vector<comm::CollectiveUse> use;
};

inline Followed follow_on_gpu(const Toy& toy, comm::HostComm& comm, train::TrainSetup setup) {
  const train::Placement placement = place(comm, setup);
  train::DataParallel training = test::training(toy, placement.collective, placement.device);
  if (setup.cuda_graph) training.use_graph();
  Followed out;
  for (int i = 0; i < kSteps; ++i) out.trajectory.losses.push_back(training.step());
  out.used_graph = training.used_graph();
  EXPECT_EQ(training.disagreement(), 0.0);
  for (const auto& t : training.checkpoint().tensors) EXPECT_FALSE(t.values.empty());
  add_state(out.trajectory, *training.generator());
  for (auto& [name, tensor] : out.trajectory.state) tensor = tensor.cpu();
  out.use = placement.collective->use();
  placement.collective->finish();  // before `training`, and its graph: as train() does
  return out;
}

}  // namespace muffle::test
