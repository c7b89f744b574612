// What each part of the closed form is worth: the tables of docs/explanation/moments.md, "What each part is
// worth".
//
//   moments_ablation DATADIR [--seeds 3] [--samples FOLDER] [--only PART]...
//
// On FashionMNIST's training images alone, with simulated noise (bench/sample_scorer.hpp); all else is
// what `muffle run` calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "bench/sample_scorer.hpp"
#include "muffle/synth/sampler.hpp"
#include "support/fashion_mnist.hpp"

namespace muffle::bench {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using moments::CovarianceNoise;

const std::vector<double> kEpsilons{0.2, 1.0, 10.0};
constexpr const char* kEpsilonHead = "| epsilon | 0.2 | 1 | 10 |\n|---|---|---|---|\n";
constexpr std::size_t kSide = 14;

// Estimators that muffle does not use, beside its own.

MatrixXd without_negative(const MatrixXd& noisy, const CovarianceNoise&, const MatrixXd&, const Heartbeat&) {
  return moments::nearest_psd(noisy);
}

MatrixXd prior_alone(const MatrixXd&, const CovarianceNoise&, const MatrixXd& prior, const Heartbeat&) {
  return prior;
}

/// Drawn to the prior by James and Stein's factor: ||noise||^2 is n (n + 1) noise^2 in the mean.
MatrixXd one_factor(const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior,
                    const Heartbeat&) {
  const auto n = static_cast<double>(noisy.rows());
  const double factor = 1 - n * (n + 1) * noise.white * noise.white / (noisy - prior).squaredNorm();
  return moments::nearest_psd(prior + std::max(0.0, factor) * (noisy - prior));
}

struct Estimator {
  const char* name;
  moments::CovarianceEstimator estimate;
};

const std::vector<Estimator>& estimators() {
  static const std::vector<Estimator> all{{"noisy, eigenvalues below 0 removed", without_negative},
                                          {"drawn to the prior by one factor a class", one_factor},
                                          {"the prior alone: what the other classes say", prior_alone},
                                          {"edge", moments::edge_covariance},
                                          {"wiener", moments::wiener_covariance},
                                          {"**the mean of edge and wiener**", moments::class_covariance}};
  return all;
}

// Errors.

moments::ConditionalMoments conditional(const release::NoisyMoments& moments) {
  return moments::conditional_moments(moments, moments::spectrum_of(*moments.moments.lift->affine()));
}

/// What step 4 is given (docs/explanation/moments.md, "From noisy sums to laws").
struct Given {
  std::vector<MatrixXd> noisy;
  std::vector<CovarianceNoise> noise;
  std::vector<MatrixXd> prior;
};

Given given(const release::NoisyMoments& moments) {
  Given out;
  moments::fit_class_gaussians(
      moments, {},
      [&](const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior, const auto&) {
        out.noisy.push_back(noisy);
        out.noise.push_back(noise);
        out.prior.push_back(prior);
        return noisy;
      });
  return out;
}

/// Mean over classes of || estimate - exact ||.
double mean_error(const Given& at, const Given& exact, const moments::CovarianceEstimator& estimate) {
  double sum = 0;
  for (std::size_t c = 0; c < at.noisy.size(); ++c)
    sum += (estimate(at.noisy[c], at.noise[c], at.prior[c], {}) - exact.noisy[c]).norm();
  return sum / static_cast<double>(at.noisy.size());
}

void print_covariances(const release::NoisyMoments& sums, std::uint64_t seeds) {
  const Given exact = given(sums);
  std::vector<double> means;
  for (const VectorXd& mean : conditional(sums).mean) means.push_back(mean.norm());
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  double norm = 0;
  for (const MatrixXd& covariance : exact.noisy)
    norm += covariance.norm() / static_cast<double>(exact.noisy.size());
  fmt::print(
      "Errors of covariances (Frobenius; means over {} draws; the classes' exact ones have norm {:.1f}, "
      "their means {:.1f} to {:.1f})\n\n",
      seeds, norm, *least, *most);
  std::vector<std::string> lines;
  for (const Estimator& e : estimators()) lines.push_back(fmt::format("| {} |", e.name));
  for (const double epsilon : kEpsilons) {
    std::vector<double> errors(lines.size());
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Given at = given(with_noise(sums, epsilon, seed));
      for (std::size_t e = 0; e < estimators().size(); ++e)
        errors[e] += mean_error(at, exact, estimators()[e].estimate);
    }
    for (std::size_t i = 0; i < lines.size(); ++i)
      lines[i] += fmt::format(" {:.1f} |", errors[i] / static_cast<double>(seeds));
  }
  fmt::print("{}{}\n", kEpsilonHead, fmt::join(lines, "\n"));
}

// Accuracies.

std::string cell(const Accuracy& a) {
  return fmt::format(" {:.3f} / {:.3f} |", a.logistic_regression, a.mlp);
}

void print_estimators(SampleScorer& scorer, const release::NoisyMoments& sums) {
  fmt::print("\nAccuracy by estimator of the classes' covariances (logistic regression / MLP)\n\n{}",
             kEpsilonHead);
  for (const Estimator& e : estimators()) {
    fmt::print("| {} |", e.name);
    for (const double epsilon : kEpsilons)
      fmt::print("{}", cell(scorer.mean(sums, epsilon, {.estimate = e.estimate})));
    fmt::print("\n");
  }
}

void print_sides(SampleScorer& scorer, const data::Batch& images, const schema::Schema& schema) {
  fmt::print("\nAccuracy by side k (logistic regression / MLP)\n\n{}", kEpsilonHead);
  for (const std::size_t k : {10, 14, 17, 20, 24}) {
    const release::NoisyMoments sums = exact_moments(images, schema, k);
    fmt::print("| {} |", k);
    for (const double epsilon : kEpsilons) fmt::print("{}", cell(scorer.mean(sums, epsilon, {})));
    fmt::print("\n");
  }
}

void print_pixels(SampleScorer& scorer, const release::NoisyMoments& sums,
                  const std::filesystem::path& samples) {
  fmt::print(
      "\nAccuracy by pixels' law and finishing (logistic regression / MLP)\n\n"
      "| plain_share, floor, outliers, mixed, stray, sharpen; epsilon | 1 | 10 |\n|---|---|---|\n");
  const double rows[][6] = {{0, 0, 0, 0, 0, 0},
                            {0.5, 0, 0, 0, 0, 0},
                            {1, 0, 0, 0, 0, 0},
                            {0.5, 0.1, 0, 0, 0, 0},
                            {0.5, 0.1, 0, 0, 0.015, 0},
                            {0.5, 0.1, 0.03, 0, 0, 0},
                            {0.5, 0.1, 0, 0.04, 0, 0},
                            {0.5, 0.1, 0, 0, 0, 1},
                            {0.5, 0.1, 0.03, 0.04, 0.015, 0},
                            {0.5, 0.1, 0.03, 0.04, 0.015, 1},
                            {0, 0.1, 0.03, 0.04, 0.015, 1},
                            {1, 0.1, 0.03, 0.04, 0.015, 1}};
  for (const auto& [plain_share, floor, outliers, mixed, stray, sharpen] : rows) {
    const Recipe recipe{.plain_share = plain_share,
                        .floor = floor,
                        .outliers = outliers,
                        .mixed = mixed,
                        .stray = stray,
                        .sharpen = sharpen};
    std::filesystem::path keep;
    if (!samples.empty()) {
      keep = samples / fmt::format("plain-{}-floor-{}-outliers-{}-mixed-{}-stray-{}-sharpen-{}", plain_share,
                                   floor, outliers, mixed, stray, sharpen);
    }
    fmt::print("| {}, {}, {}, {}, {}, {} |{}{}\n", plain_share, floor, outliers, mixed, stray, sharpen,
               cell(scorer.mean(sums, 1.0, recipe, keep)), cell(scorer.mean(sums, 10.0, recipe)));
    std::fflush(stdout);
  }
}

const std::vector<std::string> kParts{"covariances", "estimators", "sides", "pixels"};

void ablate(const std::string& folder, std::uint64_t seeds, const std::filesystem::path& samples,
            const std::vector<std::string>& only) {
  const auto wanted = [&](const char* part) {
    return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
  };
  if (!samples.empty()) std::filesystem::create_directories(samples);
  const synth::ScopedThreads one_each(1);
  data::DataSpec files = test::fashion_mnist();
  files.dir = folder;
  const auto source = data::open_shard(files, 0, 1);
  data::Batch fit, score;
  source->next(kFit, fit);
  source->next(kRecords - kFit, score);
  const release::NoisyMoments sums = exact_moments(fit, files.schema, kSide);
  if (wanted("covariances")) print_covariances(sums, seeds);
  SampleScorer scorer(score, files.schema, seeds);
  if (wanted("estimators")) print_estimators(scorer, sums);
  if (wanted("sides")) print_sides(scorer, fit, files.schema);
  if (wanted("pixels")) print_pixels(scorer, sums, samples);
  if (scorer.scored())
    fmt::print("\nStandard deviation of one draw's accuracy: {:.4f}\n", scorer.deviation());
}

}  // namespace
}  // namespace muffle::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  CLI::App app{"What each part of the closed form is worth (docs/explanation/moments.md)"};
  std::string folder, samples;
  std::uint64_t seeds = 3;
  std::vector<std::string> only;
  app.add_option("DATADIR", folder, "folder of FashionMNIST's IDX files")->required();
  app.add_option("--seeds", seeds, "draws of the noise")->check(CLI::Range(2, 100));
  app.add_option("--samples", samples, "keep the samples of the table of pixels' laws in this folder");
  app.add_option("--only", only, "this part alone")->check(CLI::IsMember(muffle::bench::kParts));
  CLI11_PARSE(app, argc, argv);
  try {
    muffle::bench::ablate(folder, seeds, samples, only);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
