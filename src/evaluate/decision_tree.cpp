#include "decision_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kNodesABeat = 1000;

/// Numbers of the rows in `order` sorted as ranks by counting, where there are at most so many ranks a row.
constexpr std::size_t kCountedRanks = 4;

double sum_of_squares_over_sum(const double* weights, std::size_t classes) {
  double squares = 0.0, sum = 0.0;
  for (std::size_t c = 0; c < classes; ++c) {
    squares += weights[c] * weights[c];
    sum += weights[c];
  }
  return sum > 0.0 ? squares / sum : 0.0;
}

}  // namespace

std::span<const float> DecisionTree::shares(const float* row) const {
  std::uint32_t at = 0;
  for (;;) {
    const Node& node = nodes_[at];
    if (node.column == kLeaf) return {shares_.data() + node.next, classes_};
    const float value = row[node.column];
    bool right = false;
    if (node.code >= 0) {
      right = value == static_cast<float>(node.code);
    } else if (node.code == kMissing) {
      right = std::isnan(value);
    } else {
      right = (std::isnan(value) ? 0.0 : static_cast<double>(value)) > node.threshold;
    }
    at = node.next + (right ? 1 : 0);
  }
}

TreeGrower::TreeGrower(const Rows& rows) : rows_(rows) {
  const std::size_t n = rows.size();
  const std::span<const Features::Column> columns = rows.features->columns();
  for (std::size_t j = 0; j < columns.size(); ++j) {
    Axis axis{static_cast<std::uint32_t>(j), {}, false, columns[j].codes, std::vector<std::uint32_t>(n)};
    const auto index = static_cast<std::uint32_t>(axes_.size());
    if (axis.codes > 0) {
      for (std::size_t i = 0; i < n; ++i) axis.code_of[i] = static_cast<std::uint32_t>(rows.row(i)[j]);
      for (std::uint32_t code = 0; code < axis.codes; ++code) features_.push_back({index, code});
      axes_.push_back(std::move(axis));
      continue;
    }
    const auto value = [&](std::size_t i) {
      const float v = rows.row(i)[j];
      return std::isnan(v) ? 0.0f : v;
    };
    for (std::size_t i = 0; i < n; ++i) axis.levels.push_back(value(i));
    std::sort(axis.levels.begin(), axis.levels.end());
    axis.levels.erase(std::unique(axis.levels.begin(), axis.levels.end()), axis.levels.end());
    for (std::size_t i = 0; i < n; ++i) {
      const auto level = std::lower_bound(axis.levels.begin(), axis.levels.end(), value(i));
      axis.code_of[i] = static_cast<std::uint32_t>(level - axis.levels.begin());
    }
    axis.codes = axis.levels.size();
    features_.push_back({index, 0});
    axes_.push_back(std::move(axis));
    if (!columns[j].missing) continue;
    Axis missing{static_cast<std::uint32_t>(j), {}, true, 2, std::vector<std::uint32_t>(n)};
    for (std::size_t i = 0; i < n; ++i) missing.code_of[i] = std::isnan(rows.row(i)[j]) ? 1 : 0;
    features_.push_back({index + 1, 1});
    axes_.push_back(std::move(missing));
  }
}

/// One tree while it grows.
class TreeGrower::Growth {
 public:
  Growth(const TreeGrower& grower, std::span<const double> weights, const TreePlan& plan,
         const CounterStream& stream, const Heartbeat& heartbeat)
      : grower_(grower),
        weights_(weights),
        plan_(plan),
        stream_(stream),
        heartbeat_(heartbeat),
        classes_(grower.rows_.classes),
        order_(grower.features_.size()),
        total_(classes_),
        left_(classes_),
        right_(classes_),
        counted_(grower.axes_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0.0) members_.push_back(i);
    }
    require(!members_.empty(), "a tree grows on some row");
  }

  DecisionTree grow() {
    tree_.classes_ = classes_;
    tree_.nodes_.resize(1);
    struct Part {
      std::uint32_t node;
      std::size_t begin, end, depth;
    };
    std::vector<Part> open{{0, 0, members_.size(), 0}};
    for (std::size_t nodes = 0; !open.empty(); ++nodes) {
      if (nodes % kNodesABeat == 0) beat(heartbeat_);
      const Part part = open.back();
      open.pop_back();
      begin_ = part.begin;
      end_ = part.end;
      sum_up();
      const bool found = part.depth < plan_.depth && !pure() && find_question();
      DecisionTree::Node& node = tree_.nodes_[part.node];
      if (!found) {
        node.next = static_cast<std::uint32_t>(tree_.shares_.size());
        const double sum = std::accumulate(total_.begin(), total_.end(), 0.0);
        for (const double weight : total_) tree_.shares_.push_back(static_cast<float>(weight / sum));
        continue;
      }
      const std::size_t middle = divide(node);
      const auto left = static_cast<std::uint32_t>(tree_.nodes_.size());
      node.next = left;
      tree_.nodes_.resize(left + 2);
      open.push_back({left + 1, middle, part.end, part.depth + 1});
      open.push_back({left, part.begin, middle, part.depth + 1});
    }
    return std::move(tree_);
  }

 private:
  struct Counts {
    std::vector<double> weights;         ///< codes x C
    std::vector<std::uint32_t> members;  ///< of each code
    bool of_this_node = false;
  };

  std::size_t size() const { return end_ - begin_; }
  std::size_t class_of(std::uint32_t member) const {
    return static_cast<std::size_t>(grower_.rows_.y[member]);
  }

  void sum_up() {
    std::fill(total_.begin(), total_.end(), 0.0);
    for (std::size_t k = begin_; k < end_; ++k) total_[class_of(members_[k])] += weights_[members_[k]];
    for (Counts& counts : counted_) counts.of_this_node = false;
    best_gain_ = -1.0;
  }

  bool pure() const {
    return std::count_if(total_.begin(), total_.end(), [](double w) { return w > 0.0; }) < 2;
  }

  /// Looks at features in random order: at so many as the plan says, and on until one divides the node.
  bool find_question() {
    const std::size_t all = order_.size();
    for (std::size_t seen = 0; seen < all && (seen < plan_.features || best_gain_ < 0.0); ++seen) {
      std::swap(order_[seen], order_[seen + stream_.below(draws_++, all - seen)]);
      const Feature& feature = grower_.features_[order_[seen]];
      const Axis& axis = grower_.axes_[feature.axis];
      if (axis.levels.empty()) {
        try_code(feature);
      } else if (axis.codes <= kCountedRanks * size()) {
        try_counted_ranks(feature.axis);
      } else {
        try_sorted_ranks(feature.axis);
      }
    }
    return best_gain_ >= 0.0;
  }

  const Counts& count(std::uint32_t index) {
    const Axis& axis = grower_.axes_[index];
    Counts& counts = counted_[index];
    if (std::exchange(counts.of_this_node, true)) return counts;
    counts.weights.assign(axis.codes * classes_, 0.0);
    counts.members.assign(axis.codes, 0);
    for (std::size_t k = begin_; k < end_; ++k) {
      const std::uint32_t member = members_[k], code = axis.code_of[member];
      counts.weights[code * classes_ + class_of(member)] += weights_[member];
      ++counts.members[code];
    }
    return counts;
  }

  /// The question that divides the node into left_ and the rest.
  void offer(std::uint32_t axis, std::uint32_t code, double threshold) {
    for (std::size_t c = 0; c < classes_; ++c) right_[c] = std::max(0.0, total_[c] - left_[c]);
    const double gain =
        sum_of_squares_over_sum(left_.data(), classes_) + sum_of_squares_over_sum(right_.data(), classes_);
    if (gain > best_gain_)
      best_gain_ = gain, best_axis_ = axis, best_code_ = code, best_threshold_ = threshold;
  }

  void try_code(const Feature& feature) {
    const Counts& counts = count(feature.axis);
    if (counts.members[feature.code] == 0 || counts.members[feature.code] == size()) return;
    for (std::size_t c = 0; c < classes_; ++c)
      left_[c] = std::max(0.0, total_[c] - counts.weights[feature.code * classes_ + c]);
    offer(feature.axis, feature.code, 0.0);
  }

  static double between(const Axis& axis, std::uint32_t rank, std::uint32_t next) {
    return 0.5 * (static_cast<double>(axis.levels[rank]) + static_cast<double>(axis.levels[next]));
  }

  void try_counted_ranks(std::uint32_t index) {
    const Axis& axis = grower_.axes_[index];
    const Counts& counts = count(index);
    std::fill(left_.begin(), left_.end(), 0.0);
    std::uint32_t last = 0;
    bool any = false;
    for (std::uint32_t rank = 0; rank < axis.codes; ++rank) {
      if (counts.members[rank] == 0) continue;
      if (std::exchange(any, true)) offer(index, last, between(axis, last, rank));
      for (std::size_t c = 0; c < classes_; ++c) left_[c] += counts.weights[rank * classes_ + c];
      last = rank;
    }
  }

  void try_sorted_ranks(std::uint32_t index) {
    const Axis& axis = grower_.axes_[index];
    sorted_.clear();
    for (std::size_t k = begin_; k < end_; ++k) sorted_.emplace_back(axis.code_of[members_[k]], members_[k]);
    std::sort(sorted_.begin(), sorted_.end());
    std::fill(left_.begin(), left_.end(), 0.0);
    for (std::size_t k = 0; k < sorted_.size(); ++k) {
      const auto [rank, member] = sorted_[k];
      if (k > 0 && rank != sorted_[k - 1].first)
        offer(index, sorted_[k - 1].first, between(axis, sorted_[k - 1].first, rank));
      left_[class_of(member)] += weights_[member];
    }
  }

  /// Puts the node's members in order, those of the left child first. @returns where the right one's begin.
  std::size_t divide(DecisionTree::Node& node) {
    const Axis& axis = grower_.axes_[best_axis_];
    node.column = axis.column;
    const bool number = !axis.levels.empty();
    node.code = number         ? DecisionTree::kThreshold
                : axis.missing ? DecisionTree::kMissing
                               : static_cast<std::int32_t>(best_code_);
    node.threshold = best_threshold_;
    const auto at = members_.begin();
    const auto middle = std::partition(at + static_cast<std::ptrdiff_t>(begin_),
                                       at + static_cast<std::ptrdiff_t>(end_), [&](std::uint32_t member) {
                                         return number ? axis.code_of[member] <= best_code_
                                                       : axis.code_of[member] != best_code_;
                                       });
    return static_cast<std::size_t>(middle - at);
  }

  const TreeGrower& grower_;
  std::span<const double> weights_;
  const TreePlan& plan_;
  const CounterStream& stream_;
  const Heartbeat& heartbeat_;
  std::size_t classes_;
  DecisionTree tree_;
  std::vector<std::uint32_t> members_;  ///< rows, node by node
  std::vector<std::uint32_t> order_;    ///< of the features
  std::uint64_t draws_ = 0;

  // Of the node at hand:
  std::size_t begin_ = 0, end_ = 0;
  std::vector<double> total_, left_, right_;  ///< weights of each class
  std::vector<Counts> counted_;               ///< of each axis
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted_;
  double best_gain_ = -1.0;  ///< below 0: none
  std::uint32_t best_axis_ = 0, best_code_ = 0;
  double best_threshold_ = 0.0;
};

DecisionTree TreeGrower::grow(std::span<const double> weights, const TreePlan& plan,
                              const CounterStream& stream, const Heartbeat& heartbeat) const {
  return Growth(*this, weights, plan, stream, heartbeat).grow();
}

}  // namespace muffle::evaluate
