#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "muffle/core/heartbeat.hpp"
#include "table_rows.hpp"

namespace muffle::evaluate {

/// A trained classifier of tables. Not for several threads at a time.
class TableClassifier {
 public:
  virtual ~TableClassifier() = default;
  /// @param scores  n x C, row-major: of each class, the larger the likelier
  virtual void score(const Rows& rows, std::span<double> scores) const = 0;
};

/// A line of the table: the settings are scikit-learn's defaults (xgboost's own), and of images what Table 10
/// of DP-MERF sets otherwise. docs/reference/metrics.md names the differences.
struct TableClassifierKind {
  std::string_view name;
  int cost;  ///< in time, beside the others: the costliest begin
  /// Trains on the calling thread: a pure function of rows and seed. Every class has a row.
  /// @param heartbeat  called now and then, on the calling thread; what it throws comes out of here
  std::unique_ptr<TableClassifier> (*train)(const Rows& rows, std::uint64_t seed, const Heartbeat& heartbeat);
};

/// In the papers' order.
std::span<const TableClassifierKind> table_classifier_kinds();

#define MUFFLE_TABLE_CLASSIFIER(name) \
  std::unique_ptr<TableClassifier> train_##name(const Rows&, std::uint64_t seed, const Heartbeat&)
MUFFLE_TABLE_CLASSIFIER(logistic_regression);
MUFFLE_TABLE_CLASSIFIER(linear_svm);
MUFFLE_TABLE_CLASSIFIER(mlp);
MUFFLE_TABLE_CLASSIFIER(gaussian_nb);
MUFFLE_TABLE_CLASSIFIER(bernoulli_nb);
MUFFLE_TABLE_CLASSIFIER(lda);
MUFFLE_TABLE_CLASSIFIER(decision_tree);
MUFFLE_TABLE_CLASSIFIER(random_forest);
MUFFLE_TABLE_CLASSIFIER(bagging);
MUFFLE_TABLE_CLASSIFIER(gradient_boosting);
MUFFLE_TABLE_CLASSIFIER(adaboost);
MUFFLE_TABLE_CLASSIFIER(xgboost);
#undef MUFFLE_TABLE_CLASSIFIER

}  // namespace muffle::evaluate
