// Which state of a training is kept by the proxy, or by what is held out of the release (train.choose_every).
#include <gtest/gtest.h>

#include <cmath>

#include "muffle/core/files.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/release/held_out.hpp"
#include "muffle/train/proxy.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"
#include "train/toy_start.hpp"

namespace muffle::train {
namespace {

using test::run_thread_ranks;
using torch::Tensor;

class NearestState : public ::testing::Test {
 protected:
  NearestState() {
    spec_.steps = 60;
    spec_.batch = 50;
    spec_.choose_every = 20;
    spec_.from_moments = false;
  }

  TrainReport run(int ranks, const std::string& name, const TrainSetup& setup = {}) {
    TrainReport out;
    std::filesystem::create_directories(folder_ / name);
    const std::string bytes = release::artifact_bytes(release_);
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      const TrainReport report =
          train(comm, bytes, "release", model_in(name), *test::start_generator(), spec_, "hash", 1, setup);
      if (comm.is_root()) out = report;
    });
    return out;
  }
  /// A training, "chosen", on noise so large that it fits it, and an early state is soon nearest.
  CheckpointChosen fit_noise(bool proxy) {
    release_ = test::start_release(test::StartRecords::kNormal, 0.2, /*draw=*/3, 300, proxy);
    spec_.steps = 400;
    spec_.decay = 1.0;
    return run(2, "chosen").chosen.value();
  }
  std::filesystem::path model_in(const std::string& name) const { return folder_ / name / "model.mfl"; }
  std::string model(const std::string& name) const { return read_file(model_in(name)); }
  /// Without how it came to be.
  std::string parts(const std::string& name) const {
    model::ModelParts model_parts = model::take_apart(model(name), name);
    model_parts.header.erase("curve");
    return model_parts.header.dump() + numbers(name);
  }
  /// Its parameters and buffers alone.
  std::string numbers(const std::string& name) const {
    std::string out;
    for (const model::NamedArray& array : model::take_apart(model(name), name).arrays)
      out.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    return out;
  }

  test::TemporaryFolder folder_;
  release::Artifact release_ = test::start_release();
  TrainSpec spec_ = test::start_spec();
};

/// What is kept is the very model that a training of so many steps has.
TEST_F(NearestState, IsTheModelOfAShorterTraining) {
  const CheckpointChosen chosen = fit_noise(/*proxy=*/true);
  ASSERT_LT(chosen.step, 400u) << "the last one is the nearest: nothing is tested";
  EXPECT_LT(chosen.distance, chosen.last_distance);
  spec_.steps = chosen.step;
  spec_.choose_every = 0;
  EXPECT_FALSE(run(2, "short").chosen);
  EXPECT_EQ(parts("chosen"), parts("short"));
}

TEST_F(NearestState, AModelHoldsSomeTwoHundredOfManyPoints) {
  spec_.steps = 400;
  spec_.choose_every = test::thorough() ? 1 : 200;  // a look takes as long as ten steps
  const TrainReport looked = run(1, "looked");
  EXPECT_EQ(looked.curve.loss.size(), 200u) << "every second";
  EXPECT_EQ(looked.curve.to_proxy.size(), test::thorough() ? 200u : 2u);
  EXPECT_EQ(looked.curve.to_proxy.back().step, 400u);
}

TEST_F(NearestState, LookingDoesNotChangeTheTraining) {
  const TrainReport looked = run(1, "looked");
  EXPECT_EQ(looked.curve.to_proxy.size(), 3u);  // after 20, 40 and 60 steps
  EXPECT_EQ(looked.curve.loss.size(), 60u);
  EXPECT_EQ(model::load_model_info(model_in("looked")).curve, looked.curve);
  if (looked.chosen->step == spec_.steps) {
    spec_.choose_every = 0;
    run(1, "plain");
    EXPECT_EQ(parts("looked"), parts("plain"));
  } else {
    ADD_FAILURE() << "step " << looked.chosen->step << " is the nearest: nothing is tested";
  }
}

TEST_F(NearestState, IsTheSameForAnyNumberOfRanks) {
  const CheckpointChosen one = run(1, "1").chosen.value();
  for (const int ranks : {2, 3}) {
    const CheckpointChosen more = run(ranks, std::to_string(ranks)).chosen.value();
    EXPECT_EQ(more.step, one.step);
    EXPECT_NEAR(more.distance, one.distance, 1e-3 * std::fabs(one.distance) + 1e-6);
  }
}

TEST_F(NearestState, GoesOnBitEqualAfterAStop) {
  const TrainReport whole = run(2, "whole");
  for (const int stop_after : {20, 33, 60}) {  // at a look, between two, at the end
    const std::string name = "stopped" + std::to_string(stop_after);
    std::filesystem::create_directories(folder_ / name);
    const std::string bytes = release::artifact_bytes(release_);
    run_thread_ranks(2, [&](comm::HostComm& comm) {
      TrainSetup own;
      int steps = 0;
      // The wish is heard in the next step.
      own.heartbeat.beat = [&](bool at_once) { return !at_once && ++steps == stop_after - 1; };
      test::expect_error(ExitCode::kStopped, {"step " + std::to_string(stop_after) + " of 60"}, [&] {
        train(comm, bytes, "release", model_in(name), *test::start_generator(), spec_, "hash", 1, own);
      });
    });
    const TrainReport rest = run(2, name);
    EXPECT_EQ(rest.resumed_at, static_cast<std::uint64_t>(stop_after));
    EXPECT_EQ(rest.chosen, whole.chosen);
    EXPECT_EQ(model(name), model("whole"));
  }
}

TEST_F(NearestState, GoesWithAStartFromTheClosedForm) {
  spec_.from_moments = true;
  spec_.steps = 200;
  const TrainReport report = run(2, "start");
  ASSERT_TRUE(report.chosen);
  ASSERT_TRUE(report.choice);
  EXPECT_GT(report.chosen->step, 0u);
  EXPECT_NEAR(report.choice->after_training, report.chosen->distance, 0.2 * report.chosen->distance)
      << "the closed form is compared with the nearest state, of other samples";
}

/// A training that fits its noise is stopped by numbers whose noise it has not seen.
TEST_F(NearestState, OfAReleaseWithoutAProxyIsNearestToWhatIsHeldOut) {
  const CheckpointChosen chosen = fit_noise(/*proxy=*/false);
  ASSERT_LT(chosen.step, 400u) << "the last one is the nearest: nothing is tested";
  EXPECT_LT(chosen.distance, chosen.last_distance);
  EXPECT_EQ(run(3, "on 3").chosen->step, chosen.step);
  // It is the model of a training of so many steps on the other part. The classes' shares are the whole
  // release's, here by its moments, which are not trained on.
  spec_.steps = chosen.step;
  spec_.choose_every = 0;
  run(2, "of the whole");
  const std::vector<std::int64_t> all = release_.values;
  release::hold_out(release_, spec_.seed);
  std::copy_n(all.begin(), release_.offset(1), release_.values.begin());
  run(2, "of a part");
  EXPECT_EQ(numbers("chosen"), numbers("of a part"));
  EXPECT_NE(numbers("chosen"), numbers("of the whole"));
}

TEST_F(NearestState, OfExactNumbersThatAreNotDividedIsTheirNearest) {
  release_ = test::start_release(test::StartRecords::kTwoCorners, 100.0, /*draw=*/0, 3000, /*proxy=*/false);
  release_.without_noise = true;
  const TrainReport looked = run(1, "looked");
  spec_.choose_every = 0;
  run(1, "plain");
  EXPECT_EQ(looked.chosen->step, spec_.steps);
  EXPECT_EQ(parts("looked"), parts("plain"));
}

/// By hand: of a target without noise, what is left is the distance of the means.
TEST(SquaredDistance, IsWithoutWhatNoiseAndSamplingAdd) {
  Measurement m{.batch = 50, .batches = 2, .class_share = {0.25, 0.75}};
  const Matching map{{}, torch::tensor({{0.1f, 0.0f}, {0.0f, 0.5f}}), {2.0, 1.0}};
  const Tensor mean = torch::tensor({{0.0f, 0.0f}, {0.3f, 0.5f}});
  const double sampling = 2 * 0.25 / 100 + (0.75 - 0.34 / 0.75) / 100;
  EXPECT_NEAR(squared_distance(map, mean, m, 0.0), 2 * 0.01 + 0.09 - sampling, 1e-7);
  EXPECT_NEAR(squared_distance(map, mean, m, 0.5), 2 * 0.01 + 0.09 - sampling - 3 * 0.5, 1e-7);
}

}  // namespace
}  // namespace muffle::train
