// Trainings that are interrupted and taken up again, on ranks that are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "comm/spy_comm.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/checkpoint.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

using test::run_thread_ranks;

constexpr int kBefore = 9;  // the learning rate changes at 7 and 14

/// kSteps steps on `before` ranks, then, from a checkpoint's bytes, the rest on `after` ranks.
test::Trajectory interrupted(const test::Toy& toy, int before, int after) {
  std::string bytes;
  std::vector<double> losses;
  run_thread_ranks(before, [&](comm::HostComm& comm) {
    DataParallel training = test::training(toy, model::host_collective(comm));
    for (int i = 0; i < kBefore; ++i) {
      const double loss = training.step();
      if (comm.is_root()) losses.push_back(loss);
    }
    if (comm.is_root()) bytes = serialize(training.checkpoint());
  });
  test::Trajectory out;
  run_thread_ranks(after, [&](comm::HostComm& comm) {
    DataParallel training = test::training(toy, model::host_collective(comm));
    training.resume(parse_checkpoint(bytes, "checkpoint"));
    EXPECT_EQ(training.steps_done(), static_cast<std::uint64_t>(kBefore));
    for (int i = kBefore; i < test::kSteps; ++i) {
      const double loss = training.step();
      if (comm.is_root()) losses.push_back(loss);
    }
    if (!comm.is_root()) return;
    out.losses = losses;
    test::add_state(out, *training.generator());
  });
  return out;
}

test::Trajectory uninterrupted(const test::Toy& toy, int ranks) {
  test::Trajectory out;
  run_thread_ranks(ranks, [&](comm::HostComm& comm) {
    const test::Trajectory mine = test::follow(toy, model::host_collective(comm));
    if (comm.is_root()) out = mine;
  });
  return out;
}

TEST(Resume, IsBitEqualOnAsManyRanks) {
  std::size_t which = 0;
  for (const test::Toy& toy : test::toy_cases()) {
    for (const int ranks : test::slice({1, 2, 3, 4}, which++)) {
      EXPECT_EQ(test::distance(uninterrupted(toy, ranks), interrupted(toy, ranks, ranks)), 0.0)
          << "batch " << toy.spec.batch << " on " << ranks;
    }
  }
}

TEST(Resume, OnOtherNumbersOfRanksStaysWithinTheTolerance) {
  std::size_t which = 0;
  for (const test::Toy& toy : test::toy_cases()) {
    const test::Trajectory expected = uninterrupted(toy, 1);
    using Ranks = std::pair<int, int>;
    for (const auto& [before, after] :
         test::slice({Ranks{1, 2}, Ranks{2, 1}, Ranks{3, 4}, Ranks{4, 3}, Ranks{1, 4}}, which++)) {
      EXPECT_LT(test::distance(expected, interrupted(toy, before, after)), test::kTolerance)
          << "batch " << toy.spec.batch << " from " << before << " to " << after;
    }
  }
}

/// The two tests above would miss it if nothing depended on what a checkpoint holds.
TEST(Resume, EveryPartOfTheStateMatters) {
  test::Toy toy = test::toy(test::kColumns, 24, true);
  toy.spec.average_rate = 1e-3;
  run_thread_ranks(1, [&](comm::HostComm& comm) {
    const auto make = [&] { return test::training(toy, model::host_collective(comm)); };
    DataParallel first = make();
    for (int i = 0; i < kBefore; ++i) first.step();
    const Checkpoint good = first.checkpoint();
    first.step();
    const Checkpoint expected = first.checkpoint();
    for (const std::string part : {"parameter/", "buffer/", "adam.mean/", "adam.square/", "average.value/",
                                   "average.mean/", "average.square/"}) {
      Checkpoint bad = good;
      for (CheckpointTensor& tensor : bad.tensors) {
        if (tensor.name.starts_with(part))
          for (float& v : tensor.values) v = 1.01f * v + 1e-4f;
      }
      DataParallel again = make();
      again.resume(bad);
      again.step();
      EXPECT_NE(again.checkpoint(), expected) << part;
    }
    Checkpoint early = good;
    early.step -= 1;
    DataParallel again = make();
    again.resume(early);
    again.step();
    EXPECT_NE(again.checkpoint().tensors, expected.tensors);
    again.resume(good);
    again.step();
    EXPECT_EQ(again.checkpoint(), expected);
  });
}

TEST(Resume, AnotherTrainingsCheckpointIsRefused) {
  const test::Toy toy = test::toy(test::kColumns, 24, true);
  run_thread_ranks(1, [&](comm::HostComm& comm) {
    DataParallel training = test::training(toy, model::host_collective(comm));
    training.step();
    const Checkpoint good = training.checkpoint();
    const auto refused = [&](const std::string& says, const std::function<void(Checkpoint&)>& change) {
      Checkpoint bad = good;
      change(bad);
      test::expect_error(ExitCode::kProtocol, {says}, [&] { training.resume(bad); });
    };
    refused("streams", [](Checkpoint& c) { ++c.seed; });
    refused("steps", [](Checkpoint& c) { c.step = 1'000'000; });
    refused("tensors", [](Checkpoint& c) { c.tensors.pop_back(); });
    refused("stands where", [](Checkpoint& c) { std::swap(c.tensors[0], c.tensors[1]); });
    EXPECT_EQ(training.checkpoint(), good);
  });
}

TEST(StopWish, OfOneRankReachesAllAfterTheSameStep) {
  const test::Toy toy = test::toy(test::kColumns, 24, true);
  for (const int ranks : {1, 2, 4}) {
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      DataParallel training = test::training(toy, model::host_collective(comm));
      const int unlucky = ranks - 1;
      for (int i = 0; i < 5; ++i) {
        training.step(comm.rank() == unlucky && i == 3);
        EXPECT_EQ(training.stop_agreed(), i == 3) << i;
      }
    });
  }
}

class Interrupted : public ::testing::Test {
 protected:
  Interrupted() {
    toy_.spec.steps = 40;
    toy_.spec.checkpoint_every = 7;
    write_file_atomically(folder_ / "release.mfl", release::artifact_bytes(test::release_of(toy_)));
    bytes_ = read_file(folder_ / "release.mfl");
    std::filesystem::create_directories(folder_ / "a");
    std::filesystem::create_directories(folder_ / "b");
  }
  ~Interrupted() override { comm::clear_termination_request(); }

  /// Trains in the sub-folder; @returns root's report.
  TrainReport run(int ranks, const std::string& name) {
    TrainReport out;
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      const TrainReport report =
          train(comm, bytes_, "release", folder_ / name / "model.mfl", *toy_.generator, toy_.spec, "hash", 1);
      if (comm.is_root()) out = report;
    });
    return out;
  }

  test::TemporaryFolder folder_;
  std::string bytes_;  ///< of the release
  test::Toy toy_ = test::toy(test::kColumns, 50, true);
};

TEST_F(Interrupted, AToldTrainingStopsOnAllRanksAndGoesOnToTheSameModel) {
  for (const int ranks : {1, 3}) {
    const std::string a = "a" + std::to_string(ranks), b = "b" + std::to_string(ranks);
    std::filesystem::create_directories(folder_ / a);
    std::filesystem::create_directories(folder_ / b);
    const TrainReport whole = run(ranks, a);
    EXPECT_EQ(whole.resumed_at, 0u);
    comm::install_termination_handler();
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    std::atomic<int> stopped = 0;
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      test::expect_error(ExitCode::kStopped, {"step 1 of 40", "same command"}, [&] {
        train(comm, bytes_, "release", folder_ / b / "model.mfl", *toy_.generator, toy_.spec, "hash", 1);
      });
      ++stopped;
    });
    EXPECT_EQ(stopped, ranks);
    EXPECT_FALSE(std::filesystem::exists(folder_ / b / "model.mfl"));
    comm::clear_termination_request();
    const TrainReport rest = run(ranks, b);
    EXPECT_EQ(rest.resumed_at, 1u);
    EXPECT_EQ(read_file(folder_ / b / "model.mfl"), read_file(folder_ / a / "model.mfl"));
    EXPECT_EQ(rest.first_loss, whole.first_loss);
    EXPECT_TRUE(
        CheckpointSlots(folder_ / b).newest("hash", sha256_file_hex(PublicFile(folder_ / "release.mfl"))))
        << "a job that ends before it has noted that the model is done goes on from here";
  }
}

/// Once the wish to stop is agreed on, it cuts no wait short: root may be long over its checkpoint.
TEST_F(Interrupted, AToldRankWaitsForTheCheckpoint) {
  const test::Toy& toy = toy_;
  int waits = 0;
  run_thread_ranks(2, [&](comm::HostComm& inner) {
    test::SpyComm comm(inner);
    bool told = false;
    comm.on_send = [&](int, const std::string& bytes) {
      if (told && !inner.is_root()) {
        ++waits;
        EXPECT_FALSE(comm::termination_requested());
      }
      return bytes;
    };
    comm::install_termination_handler();
    TrainSetup setup;
    setup.heartbeat.beat = [&](bool at_once) {
      if (!at_once) {
        std::raise(SIGUSR1);
        told = true;
      }
      return false;
    };
    test::expect_error(ExitCode::kStopped, {"step 2 of 40"}, [&] {
      train(comm, bytes_, "release", folder_ / "a" / "model.mfl", *toy.generator, toy.spec, "hash", 1, setup);
    });
  });
  EXPECT_GT(waits, 0);
}

}  // namespace
}  // namespace muffle::train
