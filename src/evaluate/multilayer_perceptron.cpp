// One hidden layer of 100 rectified units, trained by Adam until its loss stands still.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "muffle/core/philox.hpp"
#include "table_classifier.hpp"

namespace muffle::evaluate {
namespace {

using Layer = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Eigen::Index kUnits = 100;
constexpr std::size_t kRowsAStep = 200, kMostEpochs = 200, kPatience = 10, kStepsABeat = 20;
constexpr float kL2 = 1e-4f, kRate = 1e-3f, kBeta1 = 0.9f, kBeta2 = 0.999f, kTiny = 1e-8f;
constexpr double kLossTolerance = 1e-4;
constexpr std::uint32_t kStart = 70u << 24, kShuffles = 71u << 24;  ///< apart from the others' streams

/// Weights and intercepts (the last row), as Adam moves them.
struct AdamLayer {
  Layer values, gradient, first, second;

  /// Uniform within Glorot's bounds.
  AdamLayer(Eigen::Index in, Eigen::Index out, const CounterStream& stream)
      : values(in + 1, out), gradient(in + 1, out), first(Layer::Zero(in + 1, out)), second(first) {
    const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
    for (Eigen::Index i = 0; i < values.size(); ++i)
      values.data()[i] =
          static_cast<float>(bound * (2.0 * stream.uniform(static_cast<std::uint64_t>(i)) - 1.0));
  }

  auto weights() { return values.topRows(values.rows() - 1); }
  /// The gradient is a sum over so many rows, without the penalty.
  void step(float rows, float rate) {
    gradient.topRows(values.rows() - 1) += kL2 * weights();
    const auto g = gradient.array() / rows;
    first.array() = kBeta1 * first.array() + (1.0f - kBeta1) * g;
    second.array() = kBeta2 * second.array() + (1.0f - kBeta2) * g.square();
    values.array() -= rate * first.array() / (second.array().sqrt() + kTiny);
  }
};

/// Probabilities of the classes; of two classes the network has one output.
class MultilayerPerceptron final : public TableClassifier {
 public:
  MultilayerPerceptron(const Rows& rows, std::uint64_t seed, const Heartbeat& heartbeat)
      : outputs_(rows.classes == 2 ? 1 : static_cast<Eigen::Index>(rows.classes)),
        hidden_(static_cast<Eigen::Index>(rows.features->width()), kUnits,
                CounterStream(seed, Stream::kEvaluation, kStart)),
        output_(kUnits, outputs_, CounterStream(seed, Stream::kEvaluation, kStart + 1)) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t idle = 0;
    for (std::uint32_t epoch = 0; epoch < kMostEpochs && idle <= kPatience; ++epoch) {
      const CounterStream shuffle(seed, Stream::kShuffle, kShuffles + epoch);
      const double loss = train_epoch(rows, shuffled_indices(shuffle, rows.size()), heartbeat);
      idle = loss > best - kLossTolerance ? idle + 1 : 0;
      best = std::min(best, loss);
    }
  }

  void score(const Rows& rows, std::span<double> scores) const override {
    Layer activations, p;
    std::vector<std::int64_t> batch;
    for (std::size_t first = 0; first < rows.size(); first += kRowsAStep) {
      batch.clear();
      for (std::size_t i = first; i < std::min(first + kRowsAStep, rows.size()); ++i)
        batch.push_back(static_cast<std::int64_t>(i));
      forward(rows, batch, activations, p);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto r = static_cast<Eigen::Index>(i);
        const std::span<double> out = scores.subspan((first + i) * rows.classes, rows.classes);
        if (outputs_ == 1) {
          out[1] = static_cast<double>(p(r, 0));
          out[0] = 1.0 - out[1];
        } else {
          for (std::size_t c = 0; c < out.size(); ++c)
            out[c] = static_cast<double>(p(r, static_cast<Eigen::Index>(c)));
        }
      }
    }
  }

 private:
  /// @param activations  of the hidden units, b x 100  @param p  b x outputs
  void forward(const Rows& rows, std::span<const std::int64_t> batch, Layer& activations, Layer& p) const {
    const auto b = static_cast<Eigen::Index>(batch.size());
    activations.resize(b, kUnits);
    const Eigen::Index last = hidden_.values.rows() - 1;
    for (Eigen::Index i = 0; i < b; ++i) {
      auto units = activations.row(i);
      units = hidden_.values.row(last);
      rows.features->visit(row_of(rows, batch, i), [&](std::size_t feature, float value) {
        units += value * hidden_.values.row(static_cast<Eigen::Index>(feature));
      });
    }
    activations = activations.cwiseMax(0.0f);
    p.noalias() = activations * output_.values.topRows(kUnits);
    p.rowwise() += output_.values.row(kUnits);
    if (outputs_ == 1) {
      p = (1.0f + (-p.array()).exp()).inverse();
    } else {
      p.colwise() -= p.rowwise().maxCoeff().eval();
      p = p.array().exp();
      p.array().colwise() /= p.rowwise().sum().array().eval();
    }
  }

  static const float* row_of(const Rows& rows, std::span<const std::int64_t> batch, Eigen::Index i) {
    return rows.row(static_cast<std::size_t>(batch[static_cast<std::size_t>(i)]));
  }

  /// Puts p minus the truth into p. @returns the sum of the rows' losses.
  double compare(const Rows& rows, std::span<const std::int64_t> batch, Layer& p) const {
    double loss = 0.0;
    for (Eigen::Index i = 0; i < p.rows(); ++i) {
      const std::int32_t y = rows.y[static_cast<std::size_t>(batch[static_cast<std::size_t>(i)])];
      const float of_truth = outputs_ > 1 ? p(i, y) : y == 1 ? p(i, 0) : 1.0f - p(i, 0);
      loss -= std::log(std::max(static_cast<double>(of_truth), kLeastProbability));
      if (outputs_ > 1) {
        p(i, y) -= 1.0f;
      } else {
        p(i, 0) -= static_cast<float>(y);
      }
    }
    return loss;
  }

  /// @returns the mean loss, each batch's before its step, penalty and all.
  double train_epoch(const Rows& rows, const std::vector<std::int64_t>& order, const Heartbeat& heartbeat) {
    double loss = 0.0;
    for (std::size_t first = 0; first < order.size(); first += kRowsAStep) {
      if (first / kRowsAStep % kStepsABeat == 0) beat(heartbeat);
      const auto batch = std::span(order).subspan(first, std::min(kRowsAStep, order.size() - first));
      forward(rows, batch, activations_, delta_);
      loss += compare(rows, batch, delta_);
      loss += 0.5 * static_cast<double>(kL2) *
              static_cast<double>(hidden_.weights().squaredNorm() + output_.weights().squaredNorm());

      output_.gradient.topRows(kUnits).noalias() = activations_.transpose() * delta_;
      output_.gradient.row(kUnits) = delta_.colwise().sum();
      back_.noalias() = delta_ * output_.weights().transpose();
      back_ = (activations_.array() > 0.0f).select(back_, 0.0f);
      hidden_.gradient.setZero();
      for (Eigen::Index i = 0; i < back_.rows(); ++i) {
        rows.features->visit(row_of(rows, batch, i), [&](std::size_t feature, float value) {
          hidden_.gradient.row(static_cast<Eigen::Index>(feature)) += value * back_.row(i);
        });
      }
      hidden_.gradient.row(hidden_.gradient.rows() - 1) = back_.colwise().sum();

      ++steps_;
      const double rate = static_cast<double>(kRate) * std::sqrt(1.0 - std::pow(0.999, steps_)) /
                          (1.0 - std::pow(0.9, steps_));
      for (AdamLayer* layer : {&hidden_, &output_})
        layer->step(static_cast<float>(batch.size()), static_cast<float>(rate));
    }
    return loss / static_cast<double>(order.size());
  }

  static constexpr double kLeastProbability = 1e-7;

  Eigen::Index outputs_;
  AdamLayer hidden_, output_;
  double steps_ = 0.0;
  Layer activations_, delta_, back_;  ///< of a batch
};

}  // namespace

std::unique_ptr<TableClassifier> train_mlp(const Rows& rows, std::uint64_t seed, const Heartbeat& heartbeat) {
  return std::make_unique<MultilayerPerceptron>(rows, seed, heartbeat);
}

}  // namespace muffle::evaluate
