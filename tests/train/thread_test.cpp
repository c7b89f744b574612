#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"
#include "train/device.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

using test::run_thread_ranks;

TEST(DataParallelOnThreads, AnyNumberOfRanksFollowsOneRank) {
  std::size_t which = 0;
  for (const test::Toy& toy : test::toy_cases()) {
    const test::Trajectory expected = test::follow_alone(toy);
    EXPECT_NE(expected.losses.front(), expected.losses.back());
    for (const int ranks : test::slice({1, 2, 3, 4}, which++)) {
      run_thread_ranks(ranks, [&](comm::HostComm& comm) {
        const double d = test::distance(expected, test::follow(toy, model::host_collective(comm)));
        EXPECT_LT(d, ranks == 1 ? 1e-30 : test::kTolerance)
            << "batch " << toy.spec.batch << ", rank " << comm.rank() << " of " << ranks;
      });
    }
  }
}

// Several ranks without samples: nobody waits, and the loss is the one of all samples (toy.hpp says why no
// more).
TEST(DataParallelOnThreads, RanksWithoutSamplesTakePart) {
  const test::Toy toy = test::toy(test::kColumns, 2, true);
  const double expected = test::follow_alone(toy, 1).losses.front();
  run_thread_ranks(4, [&](comm::HostComm& comm) {
    EXPECT_NEAR(test::follow(toy, model::host_collective(comm), 1).losses.front(), expected,
                1e-6 * std::abs(expected));
  });
}

// What the tests of this room compare by.
TEST(DataParallelOnThreads, TheDistanceSeesWhatIsNotANumberAndWhatIsNotThere) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const test::Trajectory some{{1.0, 2.0}, {{"w", torch::tensor({1.0f, 2.0f})}, {"b", torch::ones({1})}}};
  EXPECT_EQ(test::distance(some, some), 0.0);
  const auto apart = [&](const auto& change) {
    test::Trajectory other{some.losses, some.state};
    change(other);
    const double d = test::distance(some, other);
    EXPECT_EQ(d, test::distance(other, some));
    return d;
  };
  EXPECT_EQ(apart([](auto& t) { t.state[0].second = torch::tensor({1.0f, 2.5f}); }), 0.5);
  for (const double d :
       {apart([&](auto& t) {
          t.state[0].second = torch::tensor({1.0f, nan});
        }),
        apart([&](auto& t) { t.losses[0] = nan; }), apart([](auto& t) { t.losses.pop_back(); }),
        apart([](auto& t) { t.state.pop_back(); }),
        apart([](auto& t) { t.state[0].second = torch::ones({1}); })}) {
    EXPECT_EQ(d, std::numeric_limits<double>::infinity());
  }
}

/// Hands all on to the ranks' own.
class Forwarding : public model::TensorCollective {
 public:
  explicit Forwarding(comm::HostComm& comm) : inner_(model::host_collective(comm)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void broadcast(torch::Tensor& t) override { inner_->broadcast(t); }
  void all_reduce_sum(torch::Tensor& t) override { inner_->all_reduce_sum(t); }

 private:
  std::shared_ptr<model::TensorCollective> inner_;
};

/// Collectives as one might write them by mistake.
class Broken : public Forwarding {
 public:
  enum class Fault { kMeanOfEverything, kLocalBatchNorm, kLocalGradients };
  Broken(comm::HostComm& comm, Fault fault) : Forwarding(comm), fault_(fault) {}
  void all_reduce_sum(torch::Tensor& t) override {
    const bool statistics = t.scalar_type() == torch::kFloat64;
    const bool embedding = t.numel() == 3 * 64 + 3 + 1;
    if (fault_ == Fault::kLocalBatchNorm && statistics) return;
    if (fault_ == Fault::kLocalGradients && !statistics && !embedding) return;
    Forwarding::all_reduce_sum(t);
    if (fault_ == Fault::kMeanOfEverything && !statistics) t.div_(size());
  }

 private:
  Fault fault_;
};

TEST(DataParallelOnThreads, SumsThroughHostMemoryAreTheSame) {
  const test::Toy toy = test::toy(test::kImages, 23, true, false);
  run_thread_ranks(2, [&](comm::HostComm& comm) {
    const test::Trajectory direct = test::follow(toy, model::host_collective(comm));
    EXPECT_EQ(test::distance(direct, test::follow(toy, staged_collective(comm))), 0.0);
  });
}

TEST(DataParallelOnThreads, AStepThatCannotBeAGraphStaysAsItIs) {
  const test::Toy toy = test::toy(test::kColumns, 24, true);
  const test::Trajectory expected = test::follow_alone(toy);
  DataParallel training = test::training(toy, test::alone());
  training.use_graph();
  EXPECT_EQ(test::distance(expected, test::follow(training)), 0.0);
  EXPECT_FALSE(training.used_graph());
}

TEST(DataParallelOnThreads, TheTrajectoryTestCatchesBrokenCollectives) {
  const test::Toy toy = test::toy(test::kColumns, 24, true);
  const test::Trajectory expected = test::follow_alone(toy);
  for (const auto fault :
       {Broken::Fault::kMeanOfEverything, Broken::Fault::kLocalBatchNorm, Broken::Fault::kLocalGradients}) {
    run_thread_ranks(2, [&](comm::HostComm& comm) {
      const double d = test::distance(expected, test::follow(toy, std::make_shared<Broken>(comm, fault)));
      EXPECT_GT(d, 20 * test::kTolerance) << static_cast<int>(fault);
    });
  }
}

TEST(DataParallelOnThreads, RanksThatDriftApartAreNoticed) {
  const test::Toy toy = test::toy(test::kColumns, 24, true);
  run_thread_ranks(3, [&](comm::HostComm& comm) {
    DataParallel training = test::training(toy, model::host_collective(comm));
    training.step();
    EXPECT_EQ(training.disagreement(), 0.0);
    if (comm.rank() == 2) {
      const torch::NoGradGuard no_grad;
      training.generator()->parameters()[0][0][0] += 1.0;
    }
    EXPECT_GT(training.disagreement(), 0.1);
  });
}

TEST(GradientReducerOnThreads, SumsExactlyAcrossBuckets) {
  run_thread_ranks(3, [](comm::HostComm& comm) {
    std::vector<torch::Tensor> parameters;
    for (const std::int64_t n : {5, 1000, 3, 7}) parameters.push_back(torch::zeros({n}).requires_grad_());
    GradientReducer reducer(parameters, model::host_collective(comm), 64);
    EXPECT_EQ(reducer.buckets(), 3u);  // {7, 3}, {1000} alone though too large, {5}
    for (int repeat = 0; repeat < 2; ++repeat) {
      reducer.zero();
      torch::Tensor loss = torch::zeros({});
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        loss =
            loss + (parameters[i] * static_cast<double>((comm.rank() + 1) * static_cast<int>(i + 1))).sum();
      }
      loss.backward();
      reducer.reduce();
      for (std::size_t i = 0; i < parameters.size(); ++i) {  // 1 + 2 + 3 ranks' worth, in integers
        EXPECT_TRUE(torch::equal(parameters[i].grad(),
                                 torch::full_like(parameters[i], 6.0 * static_cast<double>(i + 1))));
      }
    }
    parameters[1].mutable_grad() = torch::zeros({1000});
    EXPECT_THROW(reducer.reduce(), InvariantError);
  });
}

/// Notes which sums are begun, and when they are waited for.
class Observed : public Forwarding {
 public:
  using Forwarding::Forwarding;
  void begin_all_reduce_sum(torch::Tensor& t) override {
    begun.push_back(t.numel());
    Forwarding::begin_all_reduce_sum(t);
  }
  void finish_sums() override { ++finished; }

  std::vector<std::int64_t> begun;
  int finished = 0;
};

TEST(GradientReducerOnThreads, BucketsLeaveDuringTheBackwardPassInOneOrder) {
  run_thread_ranks(2, [](comm::HostComm& comm) {
    std::vector<torch::Tensor> p;
    for (const std::int64_t n : {5, 1000, 3, 7}) p.push_back(torch::zeros({n}).requires_grad_());
    const auto observed = std::make_shared<Observed>(comm);
    GradientReducer reducer(p, observed, 64);
    const std::vector<std::int64_t> all{10, 1000, 5};

    // Gradients that come first bucket last, on one rank: no bucket overtakes.
    const auto in_order = [&](const std::vector<std::size_t>& order) {
      torch::Tensor loss = torch::zeros({});
      for (const std::size_t i : order) loss = loss + (p[i] * 2.0).sum();
      return loss;
    };
    for (const bool reversed : {false, true}) {
      observed->begun.clear();
      reducer.zero();
      in_order(reversed == (comm.rank() == 0) ? std::vector<std::size_t>{3, 2, 1, 0}
                                              : std::vector<std::size_t>{0, 1, 2, 3})
          .backward();
      EXPECT_EQ(observed->begun, all) << "before reduce()";
      EXPECT_EQ(observed->finished, reversed);
      reducer.reduce();
      EXPECT_EQ(observed->begun, all);
      for (const auto& q : p) EXPECT_TRUE(torch::equal(q.grad(), torch::full_like(q, 4.0)));
    }

    // A parameter that the loss does not depend on holds its bucket back, and those behind it, to reduce().
    observed->begun.clear();
    reducer.zero();
    in_order({0, 2, 3}).backward();
    EXPECT_EQ(observed->begun, (std::vector<std::int64_t>{10}));
    reducer.reduce();
    EXPECT_EQ(observed->begun, all);

    // A backward pass of somebody else is none of the reducer's; two of one step are a bug.
    in_order({0, 1, 2, 3}).backward();
    EXPECT_EQ(observed->begun, all);
    reducer.zero();
    in_order({0, 1, 2, 3}).backward();
    EXPECT_THROW(in_order({0, 1, 2, 3}).backward(), InvariantError);
  });
}

class Train : public ::testing::Test {
 protected:
  void SetUp() override {
    toy_.spec.steps = 60;
    write_file_atomically(folder_ / "release.mfl", release::artifact_bytes(test::release_of(toy_)));
  }

  TrainReport run(comm::HostComm& comm, const std::string& model) {
    return train(comm, read_file(folder_ / "release.mfl"), "release.mfl", folder_ / model, *toy_.generator,
                 toy_.spec, "hash", 1);
  }

  test::TemporaryFolder folder_;
  test::Toy toy_ = test::toy(test::kColumns, 50, true);
};

TEST_F(Train, WritesAModelThatAnyNumberOfRanksWouldWrite) {
  std::vector<torch::Tensor> samples;
  for (const int ranks : {1, 3}) {
    const std::string name = "model" + std::to_string(ranks);
    run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      const TrainReport report = run(comm, name);
      EXPECT_LT(report.last_loss, 0.5 * report.first_loss);
    });
    const model::Model model = model::parse_model(read_file(folder_ / name), name);
    EXPECT_EQ(model.info.release_hash, sha256_file_hex(PublicFile(folder_ / "release.mfl")));
    EXPECT_EQ(model.info.train_hash, "hash");
    EXPECT_FALSE(model.info.is_private);
    const std::vector<std::int64_t> labels{0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    std::vector<float> drawn(labels.size() * model.info.schema.dims());
    model.sampler->draw(1, 0, labels, drawn);
    samples.push_back(torch::tensor(drawn));
  }
  EXPECT_LT((samples[0] - samples[1]).abs().max().item<double>(), 1e-3);
}

/// A training matches all maps at once: its loss is the sum of theirs.
TEST_F(Train, OfSeveralMapsMatchesAll) {
  toy_.spec.steps = 5;
  const auto first_loss = [&](const std::vector<double>& scales) {
    write_file_atomically(folder_ / "release.mfl", release::artifact_bytes(test::release_of(toy_, scales)));
    double loss = 0;
    run_thread_ranks(2, [&](comm::HostComm& comm) {
      const std::string name = fmt::format("maps{}-{}", scales.size(), scales.front());
      std::filesystem::create_directories(folder_ / name);
      const TrainReport report = run(comm, name + "/model.mfl");
      if (comm.is_root()) loss = report.first_loss;
    });
    return loss;
  };
  const double coarse = first_loss({2.0}), fine = first_loss({0.4}), both = first_loss({2.0, 0.4});
  EXPECT_NEAR(both, coarse + fine, 1e-6 * both);
  EXPECT_GT(std::abs(coarse - fine), 1e-3 * both);
}

TEST_F(Train, BadInputIsRefusedOnEveryRank) {
  const auto refused = [&](ExitCode code, std::initializer_list<std::string> parts) {
    std::atomic<int> thrown = 0;
    run_thread_ranks(3, [&](comm::HostComm& comm) {
      try {
        run(comm, "model");
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        if (comm.is_root()) {
          for (const auto& part : parts) EXPECT_THAT(e.what(), ::testing::HasSubstr(part));
        }
        ++thrown;
      }
    });
    EXPECT_EQ(thrown, 3);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model"));
  };

  std::string bytes = read_file(folder_ / "release.mfl");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file_atomically(folder_ / "release.mfl", bytes);
  refused(ExitCode::kProtocol, {"release.mfl"});

  release::Artifact foreign = test::release_of(toy_);
  foreign.map_hashes[0] = to_hex(sha256(PublicBytes("other frequencies")));
  write_file_atomically(folder_ / "release.mfl", release::artifact_bytes(foreign));
  refused(ExitCode::kProtocol, {"feature map", "version"});
}

}  // namespace
}  // namespace muffle::train
