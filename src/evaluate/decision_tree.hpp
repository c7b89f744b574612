#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/philox.hpp"
#include "table_rows.hpp"

namespace muffle::evaluate {

/// A tree of yes-or-no questions, each on one feature.
class DecisionTree {
 public:
  /// The class shares, C, of the training rows that answer as this one does.
  std::span<const float> shares(const float* row) const;

 private:
  friend class TreeGrower;
  struct Node {
    std::uint32_t column = kLeaf;
    /// A category's or kMissing: the right child has it. kThreshold: the right child is above.
    std::int32_t code = 0;
    double threshold = 0.0;
    std::uint32_t next = 0;  ///< the left child, the right one is behind it; of a leaf: where its shares are
  };
  static constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int32_t kThreshold = -1, kMissing = -2;

  std::size_t classes_ = 0;
  std::vector<Node> nodes_;
  std::vector<float> shares_;
};

/// How a tree is grown; by default to the end, with the best of all features.
struct TreePlan {
  std::size_t depth = std::numeric_limits<std::size_t>::max();
  std::size_t features = std::numeric_limits<std::size_t>::max();  ///< looked at in a node, chosen by chance
};

/// Grows trees by Gini's impurity (CART), many on the same rows: their columns are sorted once.
class TreeGrower {
 public:
  explicit TreeGrower(const Rows& rows);

  /// @param weights  n, not below 0: rows of weight 0 are not there. Some row is.
  /// @param stream  features and, among equal questions, the one that is asked
  DecisionTree grow(std::span<const double> weights, const TreePlan& plan, const CounterStream& stream,
                    const Heartbeat& heartbeat) const;

 private:
  class Growth;
  /// A column's codes, or the ranks of a number, or whether it is missing: a question is on one of them.
  struct Axis {
    std::uint32_t column;
    std::vector<float> levels;  ///< of numbers, ascending: what the ranks stand for; missing: 0
    bool missing;
    std::size_t codes;
    std::vector<std::uint32_t> code_of;  ///< n
  };
  struct Feature {
    std::uint32_t axis, code;
  };

  const Rows& rows_;
  std::vector<Axis> axes_;
  std::vector<Feature> features_;
};

}  // namespace muffle::evaluate
