// A decision tree, and the ensembles of trees that are grown one by one: bagging, random forest, AdaBoost.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "decision_tree.hpp"
#include "linear_scores.hpp"
#include "muffle/core/philox.hpp"
#include "table_classifier.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kForestTrees = 100;

/// Of the ensembles that have others for images.
struct EnsembleSettings {
  std::size_t bagged_trees = 10, boosting_rounds = 50;
  std::size_t rows_a_draw = 1;  ///< a bagged tree has one row of so many
  double boosting_rate = 1.0;
};
EnsembleSettings settings_of(const Rows& rows) {
  return rows.features->are_of_images() ? EnsembleSettings{20, 1000, 10, 0.7} : EnsembleSettings{};
}

/// Of images every class weighs as much, whatever its number of rows.
std::vector<double> row_weights(const Rows& rows) {
  std::vector<double> weights(rows.size(), 1.0);
  if (!rows.features->are_of_images()) return weights;
  const Eigen::VectorXd sizes = class_sizes(rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    weights[i] = static_cast<double>(rows.size()) / (static_cast<double>(rows.classes) * sizes[rows.y[i]]);
  return weights;
}

/// Apart from those of the other classifiers (classifiers.cpp).
enum class TreeStream : std::uint32_t { kTree = 64, kBagging, kForest, kStumps, kBaggedRows, kForestRows };

CounterStream stream_of(std::uint64_t seed, TreeStream purpose, std::size_t tree = 0) {
  return {seed, Stream::kEvaluation,
          (static_cast<std::uint32_t>(purpose) << 24) + static_cast<std::uint32_t>(tree)};
}

/// The mean of the trees' class shares.
class MeanOfTrees final : public TableClassifier {
 public:
  explicit MeanOfTrees(std::vector<DecisionTree> trees) : trees_(std::move(trees)) {}

  void score(const Rows& rows, std::span<double> scores) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<double> out = scores.subspan(i * rows.classes, rows.classes);
      std::fill(out.begin(), out.end(), 0.0);
      for (const DecisionTree& tree : trees_) {
        const std::span<const float> shares = tree.shares(rows.row(i));
        for (std::size_t c = 0; c < out.size(); ++c) out[c] += static_cast<double>(shares[c]);
      }
      for (double& score : out) score /= static_cast<double>(trees_.size());
    }
  }

 private:
  std::vector<DecisionTree> trees_;
};

/// Each tree on so many rows, drawn with replacement.
/// @param worth  of each row, where it is drawn
std::unique_ptr<TableClassifier> train_on_draws(const Rows& rows, std::size_t trees, std::size_t drawn,
                                                std::span<const double> worth, const TreePlan& plan,
                                                std::uint64_t seed, TreeStream of_tree, TreeStream of_rows,
                                                const Heartbeat& heartbeat) {
  const TreeGrower grower(rows);
  std::vector<DecisionTree> grown;
  std::vector<double> weights(rows.size());
  for (std::size_t t = 0; t < trees; ++t) {
    beat(heartbeat);
    const CounterStream draws = stream_of(seed, of_rows, t);
    std::fill(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < drawn; ++i) {
      const std::size_t row = draws.below(i, rows.size());
      weights[row] += worth[row];
    }
    grown.push_back(grower.grow(weights, plan, stream_of(seed, of_tree, t), heartbeat));
  }
  return std::make_unique<MeanOfTrees>(std::move(grown));
}

std::size_t likeliest(std::span<const float> shares) {
  return static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

/// Trees that vote, with weights.
class VotingTrees final : public TableClassifier {
 public:
  void add(DecisionTree tree, double weight) {
    trees_.emplace_back(std::move(tree), weight);
    sum_ += weight;
  }
  bool empty() const { return trees_.empty(); }

  void score(const Rows& rows, std::span<double> scores) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<double> out = scores.subspan(i * rows.classes, rows.classes);
      std::fill(out.begin(), out.end(), 0.0);
      for (const auto& [tree, weight] : trees_) out[likeliest(tree.shares(rows.row(i)))] += weight / sum_;
    }
  }

 private:
  std::vector<std::pair<DecisionTree, double>> trees_;
  double sum_ = 0.0;
};

}  // namespace

std::unique_ptr<TableClassifier> train_decision_tree(const Rows& rows, std::uint64_t seed,
                                                     const Heartbeat& heartbeat) {
  const std::vector<double> weights = row_weights(rows);
  std::vector<DecisionTree> one;
  one.push_back(TreeGrower(rows).grow(weights, {}, stream_of(seed, TreeStream::kTree), heartbeat));
  return std::make_unique<MeanOfTrees>(std::move(one));
}

std::unique_ptr<TableClassifier> train_bagging(const Rows& rows, std::uint64_t seed,
                                               const Heartbeat& heartbeat) {
  const EnsembleSettings settings = settings_of(rows);
  const std::size_t drawn = std::max<std::size_t>(1, rows.size() / settings.rows_a_draw);
  return train_on_draws(rows, settings.bagged_trees, drawn, std::vector<double>(rows.size(), 1.0), {}, seed,
                        TreeStream::kBagging, TreeStream::kBaggedRows, heartbeat);
}

std::unique_ptr<TableClassifier> train_random_forest(const Rows& rows, std::uint64_t seed,
                                                     const Heartbeat& heartbeat) {
  const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(rows.features->width())));
  return train_on_draws(rows, kForestTrees, rows.size(), row_weights(rows),
                        {.features = std::max<std::size_t>(1, root)}, seed, TreeStream::kForest,
                        TreeStream::kForestRows, heartbeat);
}

/// Stumps, each on rows weighted by how the ones before erred (SAMME).
std::unique_ptr<TableClassifier> train_adaboost(const Rows& rows, std::uint64_t seed,
                                                const Heartbeat& heartbeat) {
  const EnsembleSettings settings = settings_of(rows);
  const TreeGrower grower(rows);
  const double chance = 1.0 - 1.0 / static_cast<double>(rows.classes);
  auto voting = std::make_unique<VotingTrees>();
  std::vector<double> weights(rows.size(), 1.0 / static_cast<double>(rows.size()));
  std::vector<bool> wrong(rows.size());
  for (std::size_t round = 0; round < settings.boosting_rounds; ++round) {
    DecisionTree stump =
        grower.grow(weights, {.depth = 1}, stream_of(seed, TreeStream::kStumps, round), heartbeat);
    double error = 0.0, sum = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      wrong[i] = likeliest(stump.shares(rows.row(i))) != static_cast<std::size_t>(rows.y[i]);
      sum += weights[i];
      if (wrong[i]) error += weights[i];
    }
    error /= sum;
    if (error <= 0.0) {
      voting->add(std::move(stump), 1.0);
      break;
    }
    const double weight = settings.boosting_rate * (std::log((1.0 - error) / error) +
                                                    std::log(static_cast<double>(rows.classes) - 1.0));
    if (error >= chance) {
      // No better than chance: it ends, and where it is the first it stands alone.
      if (voting->empty()) voting->add(std::move(stump), 1.0);
      break;
    }
    voting->add(std::move(stump), weight);
    for (std::size_t i = 0; i < rows.size(); ++i) weights[i] *= wrong[i] ? std::exp(weight) / sum : 1.0 / sum;
  }
  return voting;
}

}  // namespace muffle::evaluate
