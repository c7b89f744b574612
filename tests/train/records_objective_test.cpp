// Records in place of their sums (train.match = "records").
#include "muffle/train/records_objective.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "muffle/core/files.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "train/toy.hpp"
#include "train/toy_release.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

constexpr std::int64_t kBatch = 9;
constexpr std::uint64_t kSeed = 5;

/// 9 generated and 40 real records of 4 numbers, 3 classes (one with a single generated record).
struct Small {
  Tensor x = test::toy_normal({kBatch, 4}, 1).to(torch::kFloat64);
  Tensor labels = torch::tensor({0, 2, 2, 0, 1, 0, 0, 2, 2}, torch::kInt64);
  RecordsToMatch real{{{1.5, {1.0, 0.5, 2.0}}, {0.7, {0.3}}},
                      test::toy_normal({40, 4}, 2).to(torch::kFloat64) * 0.8,
                      torch::arange(40) % 3};

  RecordsObjective objective(ObjectiveOptions options,
                             std::shared_ptr<model::TensorCollective> ranks = test::alone()) const {
    return {real, std::move(options), kSeed, std::move(ranks)};
  }
  /// Those that a step's stream draws.
  std::vector<std::int64_t> drawn(std::uint32_t step) const {
    std::vector<std::int64_t> out;
    const CounterStream stream(kSeed, Stream::kShuffle, step);
    for (std::uint64_t i = 0; i < kBatch; ++i) out.push_back(static_cast<std::int64_t>(stream.below(i, 40)));
    return out;
  }
};

constexpr ObjectiveOptions kPlain{.unbiased = false, .stratified = true};

double backward(Objective& objective, const Tensor& x, const Tensor& labels) {
  const Tensor nobody = torch::zeros({1}, x.options().requires_grad(false));
  return objective.read(objective.enqueue_backward(x, labels, kBatch, nobody)).loss;
}

/// The formula of the header, by plain loops.
double plain_loss(const Small& s, const Tensor& x, std::uint32_t step) {
  const Tensor rows = torch::tensor(s.drawn(step), torch::kInt64);
  const Tensor r = s.real.x.index_select(0, rows), ry = s.real.labels.index_select(0, rows);
  double sum = 0.0;
  for (const KernelToMatch& kernel : s.real.kernels) {
    const auto k = [&](const Tensor& a, const Tensor& ay, std::int64_t i, const Tensor& b, const Tensor& by,
                       std::int64_t j) {
      const auto yi = ay[i].item<std::int64_t>(), yj = by[j].item<std::int64_t>();
      const bool labelled = kernel.weights.size() > 1;
      if (labelled && yi != yj) return 0.0;
      const double square = (a[i] - b[j]).square().sum().item<double>();
      return kernel.weights[labelled ? static_cast<std::size_t>(yi) : 0] *
             std::exp(-square / (2 * kernel.length_scale * kernel.length_scale));
    };
    for (std::int64_t i = 0; i < kBatch; ++i) {
      for (std::int64_t j = 0; j < kBatch; ++j)
        sum += k(x, s.labels, i, x, s.labels, j) - 2 * k(x, s.labels, i, r, ry, j) + k(r, ry, i, r, ry, j);
    }
  }
  return sum / (kBatch * kBatch);
}

TEST(RecordsObjective, IsTheDiscrepancyOfTheStepsRecords) {
  const Small s;
  RecordsObjective objective = s.objective(kPlain);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const Tensor x = s.x.clone().requires_grad_();
    EXPECT_NEAR(backward(objective, x, s.labels), plain_loss(s, s.x, step), 1e-12) << step;
    for (std::int64_t i = 0; i < x.numel(); i += 5) {
      const auto shifted = [&](double by) {
        Tensor moved = s.x.clone();
        moved.view(-1)[i] += by;
        return plain_loss(s, moved, step);
      };
      EXPECT_NEAR(x.grad().view(-1)[i].item<double>(), (shifted(1e-5) - shifted(-1e-5)) / 2e-5, 1e-8) << i;
    }
  }
  EXPECT_NE(plain_loss(s, s.x, 0), plain_loss(s, s.x, 1)) << "other records";
  RecordsObjective resumed = s.objective(kPlain);
  resumed.set_steps(2);
  EXPECT_NEAR(backward(resumed, s.x.clone().requires_grad_(), s.labels), plain_loss(s, s.x, 2), 1e-12);
}

/// Sums of very many random features, with those of the step's records as the target, say the same, in all
/// forms of the gradient.
TEST(RecordsObjective, IsWhatSumsOfManyFeaturesTendTo) {
  Small s;
  constexpr std::int64_t kFrequencies = 200'000;  // an error of some 0.002 a pair
  const Tensor rows = torch::tensor(s.drawn(0), torch::kInt64);
  std::vector<Matching> maps;
  for (const KernelToMatch& kernel : s.real.kernels) {
    const auto classes = static_cast<std::int64_t>(kernel.weights.size());
    const model::FourierEmbedding embedding(
        test::toy_normal({kFrequencies, 4}, 7).to(torch::kFloat64) / (2 * M_PI * kernel.length_scale),
        classes);
    const auto sums = [=](const Tensor& x, const Tensor& y) {
      return embedding.class_sums(x, classes > 1 ? y : torch::zeros_like(y));
    };
    const Tensor target = sums(s.real.x.index_select(0, rows), s.real.labels.index_select(0, rows)) /
                          static_cast<double>(kBatch);
    maps.push_back({sums, target, kernel.weights});
  }
  for (const bool unbiased : {false, true}) {
    for (const bool stratified : {false, true}) {
      const ObjectiveOptions options{.unbiased = unbiased, .stratified = stratified};
      SumsObjective sums(maps, options, test::alone());
      RecordsObjective records = s.objective(options);
      const Tensor x = s.x.clone().requires_grad_(), same = s.x.clone().requires_grad_();
      const double loss = backward(sums, x, s.labels);
      EXPECT_NEAR(backward(records, same, s.labels), loss, 0.02 * loss);
      EXPECT_LT((x.grad() - same.grad()).norm().item<double>(), 0.02 * x.grad().norm().item<double>())
          << unbiased << stratified;
    }
  }
}

test::Toy toy_with_records(bool unbiased) {
  test::Toy toy = test::toy(test::kColumns, 25, true, unbiased);
  toy.spec.match_records = true;
  return toy;
}

Problem records_problem(const test::Toy& toy) {
  Problem problem{{}, toy.target.class_share, torch::kCPU};
  const auto dims = static_cast<std::int64_t>(toy.schema.dims());
  problem.records = RecordsToMatch{
      {{0.9, {1.0, 2.0, 1.0}}}, torch::sigmoid(test::toy_normal({300, dims}, 2)), torch::arange(300) % 3};
  return problem;
}

TEST(RecordsObjectiveOnThreads, AnyNumberOfRanksFollowsOneRank) {
  for (const bool unbiased : {false, true}) {
    const test::Toy toy = toy_with_records(unbiased);
    const auto follow = [&](std::shared_ptr<model::TensorCollective> ranks) {
      DataParallel training(*toy.generator, toy.schema, toy.spec, records_problem(toy), std::move(ranks));
      test::Trajectory out = test::follow(training);
      out.losses.push_back(training.take_statistics(40));
      return out;
    };
    const test::Trajectory expected = follow(test::alone());
    EXPECT_LT(expected.losses.back(), 0.75 * expected.losses.front()) << "few records: it goes up and down";
    for (const int ranks : {1, 2, 3, 4}) {
      test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
        EXPECT_LT(test::distance(expected, follow(model::host_collective(comm))),
                  ranks == 1 ? 1e-30 : test::kTolerance)
            << ranks;
      });
    }
  }
}

TEST(RecordsObjectiveOnThreads, ACheckpointGoesOnWithTheNextStepsRecords) {
  const test::Toy toy = toy_with_records(true);
  const auto make = [&] {
    return DataParallel(*toy.generator, toy.schema, toy.spec, records_problem(toy), test::alone());
  };
  DataParallel whole = make(), first = make(), second = make();
  for (int i = 0; i < 5; ++i) first.step();
  second.resume(first.checkpoint());
  test::Trajectory expected = test::follow(whole, 10), resumed = test::follow(second, 5);
  expected.losses.erase(expected.losses.begin(), expected.losses.begin() + 5);
  EXPECT_EQ(test::distance(expected, resumed), 0.0);
}

class TrainOnRecords : public ::testing::Test {
 protected:
  TrainOnRecords() {
    toy_.spec.steps = 20;
    auto real = std::make_shared<RealRecords>();
    for (std::uint64_t i = 0; i < 300 * toy_.schema.dims(); ++i)
      real->x.push_back(static_cast<float>(0.2 + 0.001 * static_cast<double>(i % 97)));
    for (std::int64_t i = 0; i < 300; ++i) real->labels.push_back(i % 3);
    setup_.records = std::move(real);
  }
  TrainReport run(const release::Artifact& release) {
    return train(*comm_, release::artifact_bytes(release), "release.mfl", folder_ / "model.mfl",
                 *toy_.generator, toy_.spec, "hash", 1, setup_);
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<comm::HostComm> comm_ = comm::single_process();
  test::Toy toy_ = toy_with_records(false);
  TrainSetup setup_;
};

TEST_F(TrainOnRecords, TakesOnlyAReleaseWithoutNoiseAndLeavesNothingElse) {
  release::Artifact release = test::release_of(toy_);
  for (const bool is_private : {false, true}) {
    release.is_private = is_private;
    test::expect_error(ExitCode::kConfig, {"train.match", "the release has noise"}, [&] { run(release); });
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model.mfl"));
  }
  release.is_private = false;
  release.without_noise = true;
  const TrainReport report = run(release);
  EXPECT_LT(report.last_loss, report.first_loss);
  EXPECT_FALSE(model::load_model_info(folder_ / "model.mfl").is_private);
}

TEST_F(TrainOnRecords, NeedsMapsThatStandForAKernel) {
  release::Artifact release = test::release_of(toy_);
  release.without_noise = true;
  settings::Problems none, some;
  kernel_problems(toy_.spec, release.maps, none);
  EXPECT_TRUE(none.empty());
  std::unique_ptr<features::FeatureMap> hermite = features::make_map("hermite-sum");
  hermite->resolve(toy_.schema);
  release.maps.push_back(test::named("other", std::move(hermite)));
  kernel_problems(toy_.spec, release.maps, some);
  const std::vector<std::string> problems = some.take();
  ASSERT_EQ(problems.size(), 1u);
  for (const char* part : {"\"other\"", "hermite-sum", "\"rff\"", "\"structured-rff\""})
    EXPECT_NE(problems[0].find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace muffle::train
