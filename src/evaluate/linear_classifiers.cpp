// Logistic regression and the linear support vector machine, by LIBLINEAR.
#include <linear.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#include "linear_scores.hpp"
#include "muffle/core/error.hpp"

namespace muffle::evaluate {
namespace {

constexpr double kBias = 1.0;                ///< of the feature that stands for the intercept
constexpr double kGradientTolerance = 1e-4;  ///< of the gradient's norm, beside the first one's

/// The rows as LIBLINEAR reads them: lists of (feature from 1, value), ended by -1.
class LiblinearRows {
 public:
  explicit LiblinearRows(const Rows& rows) {
    const int bias = static_cast<int>(rows.features->width()) + 1;
    std::vector<std::size_t> begin;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      begin.push_back(nodes_.size());
      rows.features->visit(rows.row(i), [&](std::size_t feature, float value) {
        if (value != 0.0f) nodes_.push_back({static_cast<int>(feature) + 1, value});
      });
      nodes_.push_back({bias, kBias});
      nodes_.push_back({-1, 0.0});
      labels_.push_back(rows.y[i]);
    }
    for (const std::size_t at : begin) rows_.push_back(nodes_.data() + at);
    problem_ = {static_cast<int>(rows.size()), bias, labels_.data(), rows_.data(), kBias};
  }
  const ::problem& problem() const { return problem_; }

 private:
  std::vector<::feature_node> nodes_;
  std::vector<::feature_node*> rows_;
  std::vector<double> labels_;
  ::problem problem_{};
};

struct FreeModel {
  void operator()(::model* trained) const { ::free_and_destroy_model(&trained); }
};

/// One class against the others; of two classes the second against the first.
std::unique_ptr<TableClassifier> train_liblinear(const Rows& rows, int solver, const Heartbeat& heartbeat) {
  static std::once_flag silenced;
  std::call_once(silenced, [] { ::set_print_string_function([](const char*) {}); });
  beat(heartbeat);
  const LiblinearRows data(rows);
  ::parameter settings{};
  settings.solver_type = solver;
  settings.eps = kGradientTolerance;
  settings.C = 1.0;
  if (const char* problem = ::check_parameter(&data.problem(), &settings))
    throw InvariantError(std::string("LIBLINEAR: ") + problem);
  const std::unique_ptr<::model, FreeModel> trained(::train(&data.problem(), &settings));
  beat(heartbeat);

  const auto classes = static_cast<Eigen::Index>(rows.classes);
  const auto width = static_cast<Eigen::Index>(rows.features->width());
  // LIBLINEAR has the classes in the order in which the rows show them, and of two the first one's score.
  Eigen::MatrixXd weights(classes, width + 1);
  const Eigen::Index scores = classes == 2 ? 1 : classes;
  const Eigen::Map<const Eigen::MatrixXd> w(trained->w, scores, width + 1);
  for (Eigen::Index k = 0; k < classes; ++k)
    weights.row(trained->label[k]) =
        k < scores ? Eigen::RowVectorXd(w.row(k)) : Eigen::RowVectorXd(-w.row(0));
  return std::make_unique<LinearScores>(weights.leftCols(width), kBias * weights.col(width));
}

}  // namespace

std::unique_ptr<TableClassifier> train_logistic_regression(const Rows& rows, std::uint64_t,
                                                           const Heartbeat& heartbeat) {
  return train_liblinear(rows, L2R_LR, heartbeat);
}

std::unique_ptr<TableClassifier> train_linear_svm(const Rows& rows, std::uint64_t,
                                                  const Heartbeat& heartbeat) {
  return train_liblinear(rows, L2R_L2LOSS_SVC, heartbeat);
}

}  // namespace muffle::evaluate
