// Boosted trees by XGBoost's C interface, one thread each.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "table_classifier.hpp"

namespace muffle::evaluate {
namespace {

/// Of images half as many.
int rounds_of(const Rows& rows) { return rows.features->are_of_images() ? 50 : 100; }

void check(int status) {
  if (status != 0) throw InvariantError(fmt::format("XGBoost: {}", XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* matrix) const { XGDMatrixFree(matrix); }
};
struct FreeBooster {
  void operator()(void* booster) const { XGBoosterFree(booster); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

/// An array as XGBoost wants it told (NumPy's __array_interface__).
template <class T>
std::string interface_of(const std::vector<T>& array) {
  constexpr char kind = std::is_floating_point_v<T> ? 'f' : 'u';
  return fmt::format(R"({{"data": [{}, true], "shape": [{}], "typestr": "<{}{}", "version": 3}})",
                     reinterpret_cast<std::uintptr_t>(array.data()), array.size(), kind, sizeof(T));
}

/// The rows, sparse: a feature that is not listed is 0. (It is "missing" to XGBoost, which then learns its
/// side of each question: of a feature that is otherwise 1 that is the same.)
Matrix matrix_of(const Rows& rows) {
  std::vector<std::uint64_t> begin{0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows.features->visit(rows.row(i), [&](std::size_t feature, float value) {
      features.push_back(static_cast<std::uint32_t>(feature));
      values.push_back(value);
    });
    begin.push_back(values.size());
  }
  DMatrixHandle matrix = nullptr;
  check(XGDMatrixCreateFromCSR(interface_of(begin).c_str(), interface_of(features).c_str(),
                               interface_of(values).c_str(), rows.features->width(),
                               R"({"missing": NaN, "nthread": 1})", &matrix));
  return Matrix(matrix);
}

using XgboostSettings = std::vector<std::pair<std::string, std::string>>;

class BoostedTrees final : public TableClassifier {
 public:
  BoostedTrees(const Rows& rows, XgboostSettings parameters, const Heartbeat& heartbeat) {
    beat(heartbeat);
    const Matrix matrix = matrix_of(rows);
    const std::vector<float> labels(rows.y.begin(), rows.y.end());
    check(XGDMatrixSetFloatInfo(matrix.get(), "label", labels.data(), labels.size()));
    const DMatrixHandle matrices[] = {matrix.get()};
    BoosterHandle booster = nullptr;
    check(XGBoosterCreate(matrices, 1, &booster));
    booster_.reset(booster);
    parameters.emplace_back("nthread", "1");
    parameters.emplace_back("verbosity", "0");
    parameters.emplace_back("tree_method", "hist");
    parameters.emplace_back("objective", rows.classes == 2 ? "binary:logistic" : "multi:softprob");
    if (rows.classes > 2) parameters.emplace_back("num_class", std::to_string(rows.classes));
    for (const auto& [name, value] : parameters)
      check(XGBoosterSetParam(booster, name.c_str(), value.c_str()));
    const int rounds = rounds_of(rows);
    for (int round = 0; round < rounds; ++round) {
      beat(heartbeat);
      check(XGBoosterUpdateOneIter(booster, round, matrix.get()));
    }
  }

  void score(const Rows& rows, std::span<double> scores) const override {
    const Matrix matrix = matrix_of(rows);
    bst_ulong length = 0;
    const float* found = nullptr;
    check(XGBoosterPredict(booster_.get(), matrix.get(), 0, 0, 0, &length, &found));
    require(length * (rows.classes == 2 ? 2 : 1) == scores.size(), "XGBoost scores every row");
    if (rows.classes > 2) {
      std::copy(found, found + length, scores.begin());
      return;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scores[2 * i + 1] = static_cast<double>(found[i]);
      scores[2 * i] = 1.0 - scores[2 * i + 1];
    }
  }

 private:
  Booster booster_;
};

/// @param name, share  of what a tree sees, of images
void sees_part(XgboostSettings& parameters, const Rows& rows, const char* name, const char* share,
               std::uint64_t seed) {
  if (!rows.features->are_of_images()) return;
  parameters.emplace_back(name, share);
  parameters.emplace_back("seed", std::to_string(seed % (std::uint64_t{1} << 31)));
}

}  // namespace

std::unique_ptr<TableClassifier> train_xgboost(const Rows& rows, std::uint64_t seed,
                                               const Heartbeat& heartbeat) {
  XgboostSettings parameters;
  sees_part(parameters, rows, "colsample_bytree", "0.1", seed);
  return std::make_unique<BoostedTrees>(rows, std::move(parameters), heartbeat);
}

/// scikit-learn's: small trees and steps, leaves not shrunk, from the classes' shares on.
std::unique_ptr<TableClassifier> train_gradient_boosting(const Rows& rows, std::uint64_t seed,
                                                         const Heartbeat& heartbeat) {
  XgboostSettings parameters{
      {"eta", "0.1"}, {"max_depth", "3"}, {"lambda", "0"}, {"min_child_weight", "0.001"}};
  sees_part(parameters, rows, "subsample", "0.1", seed);
  if (rows.classes == 2) {
    const auto positives = static_cast<double>(std::count(rows.y.begin(), rows.y.end(), 1));
    parameters.emplace_back("base_score",
                            fmt::format("{:.9f}", positives / static_cast<double>(rows.size())));
  }
  return std::make_unique<BoostedTrees>(rows, std::move(parameters), heartbeat);
}

}  // namespace muffle::evaluate
