// Releases of one minibatch after the other, and the trainings on them.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "muffle/core/error.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "train/moments_start.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

constexpr features::Minibatches kFourTwice{.batches = 4, .epochs = 2};

TEST(MinibatchTraining, EachTargetIsTheMeanEmbeddingOfItsOwnRecords) {
  const test::Toy toy = test::toy(test::kColumns, 50, true);
  const release::Artifact whole = test::release_of(toy), parts = test::release_of(toy, {2.0}, kFourTwice);
  const Matching of_whole = match_map(whole, 0, release::make_target(whole), torch::kCPU).matching,
                 of_parts = match_map(parts, 0, release::make_target(parts), torch::kCPU).matching;
  EXPECT_TRUE(of_whole.minibatches.empty());
  ASSERT_EQ(of_parts.minibatches.size(), 8u);
  const std::vector<std::uint64_t> sizes = kFourTwice.sizes(300);
  torch::Tensor mean = torch::zeros_like(of_whole.target);
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    torch::Tensor sum = torch::zeros_like(of_whole.target);
    for (std::size_t n = 4 * epoch; n < 4 * epoch + 4; ++n) {
      EXPECT_EQ(of_parts.minibatches[n].sizes(), of_whole.target.sizes());
      EXPECT_FALSE(of_parts.minibatches[n].allclose(of_whole.target, 0.01, 0.001)) << "other records";
      sum += of_parts.minibatches[n] * static_cast<double>(sizes[n]) / 300.0;
      mean += of_parts.minibatches[n] / 8.0;
    }
    EXPECT_TRUE(sum.allclose(of_whole.target, 1e-4, 1e-5)) << "epoch " << epoch;
  }
  EXPECT_TRUE(of_parts.target.allclose(mean, 1e-4, 1e-6));
  EXPECT_NEAR(of_parts.noise_square / of_whole.noise_square, 2 * 16, 0.1)
      << "sqrt(2) sigma, a fourth of the records";
}

TEST(MinibatchTraining, TakesThemInTurn) {
  test::Toy toy = test::toy(test::kColumns, 50, true);
  const std::string bytes = release::artifact_bytes(test::release_of(toy, {2.0}, kFourTwice));
  const auto trained = [&](std::uint64_t steps) {
    toy.spec.steps = steps;
    const test::TemporaryFolder folder;
    TrainReport out;
    test::run_thread_ranks(1, [&](comm::HostComm& comm) {
      out = train(comm, bytes, "release", folder / "model.mfl", *toy.generator, toy.spec, "hash", 1);
    });
    return out;
  };
  const TrainReport one = trained(1), nine = trained(9);
  EXPECT_EQ(one.first_loss, nine.first_loss);
  EXPECT_LT(nine.last_loss, nine.first_loss) << "step 9 has the first one's minibatch again";
  toy.spec.match_records = true;
  test::expect_error(ExitCode::kConfig, {"\"m0\"", "minibatch", "train.match"}, [&] { trained(1); });
}

}  // namespace
}  // namespace muffle::train
