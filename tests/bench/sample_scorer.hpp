#pragma once

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/evaluate/classifiers.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/moments/class_gaussians.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "support/planned_release.hpp"
#include "support/records.hpp"
#include "synth/draw_tile.hpp"

// Accuracies of samples from a release of FashionMNIST's second moments with seeded noise, for measurements:
// nothing of it is ever released.
namespace muffle::bench {

/// FashionMNIST's training images: the first kFit make the sums, the others score.
inline constexpr std::size_t kRecords = 60'000, kFit = 50'000;

/// What a release of these images without noise would say. @param side  k
inline release::NoisyMoments exact_moments(const data::Batch& images, const schema::Schema& schema,
                                           std::size_t side) {
  const test::MapKeys keys{{"lift", "image"}, {"coefficients", std::to_string(side)}};
  return release::make_noisy_moments(test::planned_release(
      schema, {test::named("moments", test::make_moments(keys, schema))}, images.x, images.y));
}

/// The noise of a release that replace-one adjacency and delta = 1e-5 ask for, made smaller by the share of
/// kRecords that was summed: it is to these sums as an honest release's is to those of all records.
inline release::NoisyMoments with_noise(release::NoisyMoments moments, double epsilon, std::uint64_t seed) {
  constexpr double kDelta = 1e-5;
  // Noise in units of the moments: 2^(2 bits) on the diagonal, and 1 / sqrt(2) of it beside it.
  const double sensitivity = privacy::combined_sensitivity({.blocks = {{1.0, true, ""}}}).value;
  const double sigma = sensitivity * privacy::noise_multiplier_for(epsilon, kDelta);
  const double unit = std::pow(moments.moments.scale(), 2) * kRecords / moments.records;
  moments.noise_diagonal = sigma * std::ldexp(1.0, 2 * moments.moments.bits) / unit;
  moments.noise_off_diagonal = moments.noise_diagonal / std::sqrt(2.0);
  const std::size_t q = moments.order;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    const CounterStream random(seed, Stream::kTest, static_cast<std::uint32_t>(c));
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = i; j < q; ++j) {
        const double noise = random.normal(features::SecondMoments::index(q, i, j)) *
                             (i == j ? moments.noise_diagonal : moments.noise_off_diagonal);
        moments.second[(c * q + i) * q + j] += noise;
        if (i != j) moments.second[(c * q + j) * q + i] += noise;
      }
    }
  }
  return moments;
}

/// How samples are made of noisy moments; the defaults are those of configs/fashion-mnist-moments.toml.
struct Recipe {
  moments::CovarianceEstimator estimate = moments::class_covariance;
  double plain_share = 0.5, floor = 0.1, outliers = 0.03, mixed = 0.04, stray = 0.015, sharpen = 1.0;
};

struct Accuracy {
  double logistic_regression = 0, mlp = 0;
};

/// 10,000 samples by a recipe, as `muffle sample` draws them: images as bytes.
inline schema::Records draw_samples(const release::NoisyMoments& moments, const schema::Schema& schema,
                                    const Recipe& recipe) {
  const moments::ClassGaussians laws = moments::fit_class_gaussians(moments, {}, recipe.estimate);
  moments::MomentsModel fitted{moments.moments, laws.mean, {}, {}, recipe.plain_share};
  for (const Eigen::MatrixXd& covariance : laws.covariance) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
    fitted.factor.push_back(solver.eigenvectors() *
                            solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal());
  }
  synth::Draw draw;
  draw.info.generator = model::settings_of(fitted);
  draw.info.schema = schema;
  draw.class_share.assign(schema.classes, 1 / static_cast<double>(schema.classes));
  draw.info.class_share = draw.class_share;
  draw.sampler = moments::make_sampler(fitted);
  draw.spec.count = 10'000;
  draw.spec.floor = recipe.floor;
  draw.spec.outliers = recipe.outliers;
  draw.spec.mixed = recipe.mixed;
  draw.spec.stray = recipe.stray;
  draw.spec.sharpen = recipe.sharpen;
  schema::Records out;
  out.shape = schema.shape;
  for (std::uint64_t tile = 0; tile < draw.tiles(); ++tile) {
    const std::string bytes = synth::draw_tile(draw, tile);
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    const std::vector<std::uint8_t> labels = synth::tile_labels(draw, tile);
    out.labels.insert(out.labels.end(), labels.begin(), labels.end());
  }
  return out;
}

/// Trains muffle's classifiers on samples and scores them on real images. One thread for each draw of the
/// noise: LibTorch's own count must be 1.
class SampleScorer {
 public:
  /// @param seeds  draws of the noise, at least 2
  SampleScorer(const data::Batch& images, schema::Schema schema, std::uint64_t seeds)
      : schema_(std::move(schema)), seeds_(seeds) {
    x_ = torch::tensor(images.x).reshape({static_cast<std::int64_t>(images.n), -1});
    y_ = torch::tensor(images.y).to(torch::kInt64);
  }

  /// Mean over the draws of the noise. @param keep  empty, or a path: samples go to KEEP-seed-N.npz
  Accuracy mean(const release::NoisyMoments& exact, double epsilon, const Recipe& recipe,
                const std::filesystem::path& keep = {}) {
    std::vector<std::future<Accuracy>> runs;
    for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
      runs.push_back(std::async(std::launch::async, [&, seed] {
        const schema::Records samples = draw_samples(with_noise(exact, epsilon, seed), schema_, recipe);
        if (!keep.empty())
          test::write_records(keep.string() + "-seed-" + std::to_string(seed) + ".npz", samples);
        return score(samples);
      }));
    }
    const auto count = static_cast<double>(seeds_);
    std::vector<Accuracy> all;
    Accuracy mean;
    for (auto& run : runs) {
      all.push_back(run.get());
      mean.logistic_regression += all.back().logistic_regression / count;
      mean.mlp += all.back().mlp / count;
    }
    for (const Accuracy& a : all) {
      squares_ +=
          std::pow(a.logistic_regression - mean.logistic_regression, 2) + std::pow(a.mlp - mean.mlp, 2);
    }
    degrees_ += 2 * (count - 1);
    return mean;
  }

  bool scored() const { return degrees_ > 0; }

  /// Standard deviation between draws of the noise, over all that was scored.
  double deviation() const { return std::sqrt(squares_ / degrees_); }

 private:
  Accuracy score(const schema::Records& samples) const {
    const auto n = static_cast<std::int64_t>(samples.count());
    const evaluate::TrainingSet set{
        torch::tensor(samples.bytes).reshape({n, -1}).to(torch::kFloat32).div_(schema_.hi),
        torch::tensor(samples.labels).to(torch::kInt64)};
    const auto accuracy = [&](const char* kind) {
      const evaluate::ClassifierKind& of = evaluate::classifier_kind(kind);
      const auto classifier =
          evaluate::train_classifier(of, evaluate::plan_of(of, /*epochs=*/0), set, schema_,
                                     /*seed=*/1, [] {});
      return classifier.predict(x_).eq(y_).to(torch::kFloat64).mean().item<double>();
    };
    return {accuracy("logistic_regression"), accuracy("mlp")};
  }

  schema::Schema schema_;
  std::uint64_t seeds_;
  torch::Tensor x_, y_;
  double squares_ = 0, degrees_ = 0;
};

}  // namespace muffle::bench
