#include "tree_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "spikes.hpp"
#include "split_prior.hpp"

namespace muffle::pair_graph {
namespace {

using features::DyadicTree;

constexpr int kPasses = 8;
/// What a depth's weights take from all depths': so many nodes.
constexpr double kShared = 10.0;
/// Of a node's records: noise below and above is as good as none, or as nothing counted.
constexpr double kLeastNoise = 1e-6, kMostNoise = 1e3;

/// A node's records as it and the nodes below it counted them.
struct Upward {
  std::vector<double> counts, precision;

  explicit Upward(const TreeCounts& column) : counts(column.counts), precision(column.precision) {
    const std::vector<DyadicTree::Node>& nodes = column.tree->nodes;
    for (std::size_t v = nodes.size(); v-- > 0;) {
      if (!(precision[v] > 0)) counts[v] = precision[v] = 0;
      if (nodes[v].is_cell()) continue;
      const std::size_t l = nodes[v].left, r = nodes[v].right;
      if (!(precision[l] > 0) || !(precision[r] > 0)) continue;
      const double below = 1 / (1 / precision[l] + 1 / precision[r]), all = precision[v] + below;
      counts[v] = (counts[v] * precision[v] + (counts[l] + counts[r]) * below) / all;
      precision[v] = all;
    }
  }
};

/// The nodes at the same depth on either side; the node itself where there is none.
struct Beside {
  std::vector<std::size_t> left, right;

  explicit Beside(const DyadicTree& tree) : left(tree.nodes.size()), right(tree.nodes.size()) {
    std::vector<std::size_t> last(tree.levels + 1, tree.nodes.size());
    for (std::size_t v = 0; v < tree.nodes.size(); ++v) {  // from left to right within a depth
      left[v] = right[v] = v;
      std::size_t& before = last[tree.nodes[v].depth];
      if (before != tree.nodes.size()) {
        left[v] = before;
        right[before] = v;
      }
      before = v;
    }
  }
};

/// The left half's share where a node's density has the slope between its neighbours' (van Leer's limiter).
double sloped_share(double before, double own, double after) {
  const double rise = own - before, next = after - own;
  const double slope = rise * next > 0 ? 2 * rise * next / (rise + next) : 0.0;
  return std::clamp(0.5 - slope / (8 * own), 0.2, 0.8);
}

struct Column {
  const TreeCounts& known;
  Upward seen;
  Beside beside;
  TreeLaw law;

  explicit Column(const TreeCounts& counts) : known(counts), seen(counts), beside(*counts.tree) {
    law.nodes.assign(counts.tree->nodes.size(), 0.0);
    law.precision = seen.precision;
    // The root: what is not missing.
    double there = counts.records;
    if (counts.may_miss) {
      const double p = seen.precision[0], q = counts.missing_precision;
      there =
          p + q > 0 ? ((counts.records - counts.missing) * q + seen.counts[0] * p) / (p + q) : counts.records;
    }
    law.nodes[0] = std::clamp(there, 0.0, counts.records);
    law.missing = counts.records - law.nodes[0];
  }

  /// The share of node v's left half that is expected of it.
  double expected(std::size_t v, double own) const {
    const std::size_t left = known.tree->nodes[v].left;
    if (!known.like.empty()) return known.like[v] > 0 ? known.like[left] / known.like[v] : 0.5;
    const std::size_t before = beside.left[v], after = beside.right[v];
    return sloped_share(before == v ? own : law.nodes[before], own, after == v ? own : law.nodes[after]);
  }
};

/// What a pass found out about each node's split.
struct Told {
  std::vector<SplitPrior::Weights> laws;  ///< how likely it came from which
  std::vector<double> evidence;           ///< its logarithm, of all laws together

  explicit Told(const DyadicTree& tree) : laws(tree.nodes.size()), evidence(tree.nodes.size(), 0.0) {}
};

/// Splits the records of every node by what was counted, from the root downwards.
Told split_records(Column& column, const SplitPrior& prior, const std::vector<SplitPrior::Weights>& weights) {
  const DyadicTree& tree = *column.known.tree;
  Told told(tree);
  // Depth by depth: a split looks at its neighbours' records.
  for (std::size_t depth = 0; depth < tree.levels; ++depth) {
    for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
      const DyadicTree::Node& node = tree.nodes[v];
      if (node.depth != depth || node.is_cell()) continue;
      const double own = std::max(column.law.nodes[v], 1e-6);
      const double p = column.seen.precision[node.left], q = column.seen.precision[node.right];
      double mean = own / 2, sd = kMostNoise;
      if (p + q > 0) {
        mean = (column.seen.counts[node.left] * p + (own - column.seen.counts[node.right]) * q) / (p + q);
        sd = std::clamp(1 / (std::sqrt(p + q) * own), kLeastNoise, kMostNoise);
      }
      const SplitPrior::Reading reading = prior.read(mean / own, sd, column.expected(v, own));
      double evidence = 1e-300, share = 0;
      for (std::size_t k = 0; k < SplitPrior::kLaws; ++k) {
        evidence += weights[depth][k] * reading.evidence[k];
        share += weights[depth][k] * reading.share[k];
      }
      for (std::size_t k = 0; k < SplitPrior::kLaws; ++k)
        told.laws[v][k] = weights[depth][k] * reading.evidence[k] / evidence;
      told.evidence[v] = std::log(evidence);
      column.law.nodes[node.left] = own * share / evidence;
      column.law.nodes[node.right] = own - column.law.nodes[node.left];
    }
  }
  return told;
}

/// How often a node of each depth is a spike, if none above it is: by the nodes that tell.
class SpikeShares {
 public:
  explicit SpikeShares(std::size_t depths) : of_(depths, kFirst), found_(depths, 0.0), looked_(depths, 0.0) {}

  const std::vector<double>& of() const { return of_; }
  void add(const Column& column, const Spikes::Chances& chances) {
    const std::vector<DyadicTree::Node>& nodes = column.known.tree->nodes;
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      if (nodes[v].is_cell() || column.law.nodes[v] * std::sqrt(column.seen.precision[v]) < kTells) continue;
      found_[nodes[v].depth] += chances.reached[v] * chances.here[v];
      looked_[nodes[v].depth] += chances.reached[v];
    }
  }
  void learn() {
    const double found = std::accumulate(found_.begin(), found_.end(), 0.0),
                 looked = std::accumulate(looked_.begin(), looked_.end(), 0.0);
    const double shared = (found + kFirst) / (looked + 1);
    for (std::size_t depth = 0; depth < of_.size(); ++depth)
      of_[depth] = std::clamp((found_[depth] + kGuessed * shared) / (looked_[depth] + kGuessed), 1e-4, 0.9);
    std::ranges::fill(found_, 0.0);
    std::ranges::fill(looked_, 0.0);
  }

 private:
  /// A node of fewer standard deviations of records says nothing. What a depth takes from all: so many nodes.
  static constexpr double kFirst = 0.1, kTells = 2.0, kGuessed = 3.0;
  std::vector<double> of_, found_, looked_;
};

SplitPrior::Weights normalised(SplitPrior::Weights weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  for (double& w : weights) w /= sum;
  return weights;
}

}  // namespace

double TreeLaw::variance(const DyadicTree& tree, std::size_t first, std::size_t last) const {
  double sum = 0;
  std::vector<std::size_t> open{0};
  while (!open.empty()) {
    const std::size_t v = open.back();
    open.pop_back();
    const DyadicTree::Node& node = tree.nodes[v];
    if (node.last <= first || node.first >= last) continue;
    if (node.first >= first && node.last <= last) {
      sum += precision[v] > 0 ? 1 / precision[v] : std::numeric_limits<double>::infinity();
    } else {
      open.push_back(node.left);
      open.push_back(node.right);
    }
  }
  return sum;
}

std::vector<TreeLaw> tree_laws(const std::vector<TreeCounts>& columns, const Heartbeat& heartbeat) {
  static const SplitPrior kPrior;
  std::vector<Column> all;
  std::size_t depths = 0;
  for (const TreeCounts& column : columns) {
    all.emplace_back(column);
    depths = std::max(depths, column.tree->levels);
  }
  std::vector<Spikes> spikes;
  for (const Column& column : all)
    spikes.emplace_back(*column.known.tree, column.seen.counts, column.seen.precision);
  std::vector<Spikes::Chances> chances(all.size());
  SpikeShares spike_shares(depths);
  SplitPrior::Weights even;
  even.fill(1.0 / SplitPrior::kLaws);
  std::vector<SplitPrior::Weights> weights(depths, even);
  for (int pass = 0; pass < kPasses; ++pass) {
    beat(heartbeat);
    std::vector<SplitPrior::Weights> seen(depths, SplitPrior::Weights{});
    for (std::size_t j = 0; j < all.size(); ++j) {
      const std::vector<DyadicTree::Node>& nodes = all[j].known.tree->nodes;
      const Told told = split_records(all[j], kPrior, weights);
      // A law that is like another has that one's spikes.
      if (all[j].known.like.empty()) {
        chances[j] = spikes[j].chances(all[j].law.nodes, told.evidence, spike_shares.of());
        spike_shares.add(all[j], chances[j]);
      }
      for (std::size_t v = 0; v < nodes.size(); ++v) {
        if (nodes[v].is_cell()) continue;
        const double split = chances[j].here.empty() ? 1.0 : chances[j].reached[v] * (1 - chances[j].here[v]);
        for (std::size_t k = 0; k < SplitPrior::kLaws; ++k)
          seen[nodes[v].depth][k] += split * told.laws[v][k];
      }
    }
    spike_shares.learn();
    SplitPrior::Weights shared;
    shared.fill(0.5);
    for (const SplitPrior::Weights& of : seen) {
      for (std::size_t k = 0; k < SplitPrior::kLaws; ++k) shared[k] += of[k];
    }
    shared = normalised(shared);
    for (std::size_t depth = 0; depth < depths; ++depth) {
      for (std::size_t k = 0; k < SplitPrior::kLaws; ++k)
        weights[depth][k] = seen[depth][k] + kShared * shared[k] + 0.01;
      weights[depth] = normalised(weights[depth]);
    }
  }
  std::vector<TreeLaw> out;
  for (std::size_t j = 0; j < all.size(); ++j) {
    if (!chances[j].here.empty()) all[j].law.nodes = spikes[j].mean(all[j].law.nodes, chances[j]);
    out.push_back(std::move(all[j].law));
  }
  return out;
}

}  // namespace muffle::pair_graph
