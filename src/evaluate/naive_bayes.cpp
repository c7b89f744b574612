#include <Eigen/Core>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "linear_scores.hpp"

namespace muffle::evaluate {
namespace {

/// Turns log-likelihoods, C of them, into probabilities: where they round to 0 or 1 they are equal, as
/// scikit-learn's are.
void normalise(std::span<double> scores) {
  Eigen::Map<Eigen::ArrayXd> p(scores.data(), static_cast<Eigen::Index>(scores.size()));
  const double largest = p.maxCoeff();
  p = (p - (largest + std::log((p - largest).exp().sum()))).exp();
}

Eigen::VectorXd log_priors(const Rows& rows) {
  return (class_sizes(rows).array() / static_cast<double>(rows.size())).log();
}

/// Each feature normal in each class. All matrices are C x F.
class GaussianNb final : public TableClassifier {
 public:
  GaussianNb(const Rows& rows, const Heartbeat& heartbeat) {
    const auto classes = static_cast<Eigen::Index>(rows.classes);
    const auto width = static_cast<Eigen::Index>(rows.features->width());
    Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(classes, width), squares = sums;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % kRowsABeat == 0) beat(heartbeat);
      rows.features->visit(rows.row(i), [&](std::size_t feature, double value) {
        sums(rows.y[i], static_cast<Eigen::Index>(feature)) += value;
        squares(rows.y[i], static_cast<Eigen::Index>(feature)) += value * value;
      });
    }
    const Eigen::VectorXd sizes = class_sizes(rows);
    const auto spread = [](const auto& sum, const auto& square, double n) {
      return (square.array() / n - (sum.array() / n).square()).max(0.0).eval();
    };
    const double n = static_cast<double>(rows.size());
    const double smoothing = kSmoothing * spread(sums.colwise().sum(), squares.colwise().sum(), n).maxCoeff();
    means_ = sums.array().colwise() / sizes.array();
    precisions_.resize(classes, width);
    for (Eigen::Index c = 0; c < classes; ++c) {
      precisions_.row(c) =
          (spread(sums.row(c), squares.row(c), sizes[c]) + std::max(smoothing, kLeastVariance)).inverse();
    }
    // Of a record whose features are all 0; the others' are added to it.
    of_zero_ = log_priors(rows).array() + 0.5 * ((precisions_.array() / (2.0 * std::numbers::pi)).log() -
                                                 precisions_.array() * means_.array().square())
                                                    .rowwise()
                                                    .sum();
  }

  void score(const Rows& rows, std::span<double> scores) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Eigen::Map<Eigen::VectorXd> out(scores.data() + i * rows.classes, of_zero_.size());
      out = of_zero_;
      rows.features->visit(rows.row(i), [&](std::size_t feature, double value) {
        const auto f = static_cast<Eigen::Index>(feature);
        out.array() += precisions_.col(f).array() * value * (means_.col(f).array() - 0.5 * value);
      });
      normalise({out.data(), rows.classes});
    }
  }

 private:
  static constexpr std::size_t kRowsABeat = 100'000;
  static constexpr double kSmoothing = 1e-9;  ///< added to variances, of the largest over all classes
  static constexpr double kLeastVariance = 1e-30;

  Eigen::MatrixXd means_, precisions_;
  Eigen::VectorXd of_zero_;
};

/// Each feature is above 0, or of images above 0.5, or not; a record of each kind is added to each class.
class BernoulliNb final : public TableClassifier {
 public:
  BernoulliNb(const Rows& rows, const Heartbeat& heartbeat)
      : above_(rows.features->are_of_images() ? 0.5f : 0.0f) {
    const auto classes = static_cast<Eigen::Index>(rows.classes);
    const auto width = static_cast<Eigen::Index>(rows.features->width());
    beat(heartbeat);
    Eigen::MatrixXd counts = Eigen::MatrixXd::Ones(classes, width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows.features->visit(rows.row(i), [&](std::size_t feature, float value) {
        if (value > above_) counts(rows.y[i], static_cast<Eigen::Index>(feature)) += 1.0;
      });
    }
    const Eigen::ArrayXd sizes = class_sizes(rows).array() + 2.0;
    const Eigen::ArrayXXd shares = counts.array().colwise() / sizes;
    const Eigen::ArrayXXd log_absent = (1.0 - shares).log();
    log_odds_ = shares.log() - log_absent;
    of_zero_ = log_priors(rows).array() + log_absent.rowwise().sum();
  }

  void score(const Rows& rows, std::span<double> scores) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Eigen::Map<Eigen::VectorXd> out(scores.data() + i * rows.classes, of_zero_.size());
      out = of_zero_;
      rows.features->visit(rows.row(i), [&](std::size_t feature, float value) {
        if (value > above_) out += log_odds_.col(static_cast<Eigen::Index>(feature));
      });
      normalise({out.data(), rows.classes});
    }
  }

 private:
  float above_;
  Eigen::MatrixXd log_odds_;  ///< C x F
  Eigen::VectorXd of_zero_;
};

}  // namespace

std::unique_ptr<TableClassifier> train_gaussian_nb(const Rows& rows, std::uint64_t,
                                                   const Heartbeat& heartbeat) {
  return std::make_unique<GaussianNb>(rows, heartbeat);
}

std::unique_ptr<TableClassifier> train_bernoulli_nb(const Rows& rows, std::uint64_t,
                                                    const Heartbeat& heartbeat) {
  return std::make_unique<BernoulliNb>(rows, heartbeat);
}

}  // namespace muffle::evaluate
