#include "learned_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "muffle/features/dyadic.hpp"
#include "noisy_counts.hpp"
#include "tree_law.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;
using features::DyadicTree;

/// A column and its tree.
struct Learned {
  std::size_t column, codes, cells;
  DyadicTree tree;
};

/// Nodes by their cells.
using Places = std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>;

Places places_of(const DyadicTree& tree) {
  Places out;
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) out[{tree.nodes[v].first, tree.nodes[v].last}] = v;
  return out;
}

/// Adds what a table of the column alone counted: groups that are nodes, or the missing value.
void add_level(const release::NoisyTable& table, const Learned& learned, const Places& places,
               const std::vector<double>& counts, double variance, TreeCounts& out) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> range(counts.size(), {~0u, 0u});
  for (std::uint32_t code = 0; code < learned.codes; ++code) {
    const std::size_t g = table.groups.empty() || table.groups[0].empty() ? code : table.groups[0][code];
    range[g] = {std::min(range[g].first, code), std::max(range[g].second, code + 1)};
  }
  const double precision = 1 / std::max(variance, 1e-12);
  for (std::size_t g = 0; g < counts.size(); ++g) {
    if (range[g].first >= learned.cells) {
      out.missing += counts[g] * precision;
      out.missing_precision += precision;
    } else if (const auto at = places.find(range[g]); at != places.end()) {
      out.counts[at->second] += counts[g] * precision;
      out.precision[at->second] += precision;
    }
  }
}

/// @param classes  which of them, together
TreeCounts tree_counts(const release::NoisyTables& tables, const Learned& learned, std::size_t first_class,
                       std::size_t classes, double records) {
  TreeCounts out;
  out.tree = &learned.tree;
  out.counts.assign(learned.tree.nodes.size(), 0.0);
  out.precision = out.counts;
  out.may_miss = learned.codes > learned.cells;
  out.records = records;
  const Places places = places_of(learned.tree);
  for (const release::NoisyTable& table : tables.tables) {
    if (table.columns != std::vector{learned.column}) continue;
    std::vector<double> sum(table.cells(), 0.0);
    for (std::size_t c = first_class; c < first_class + classes; ++c) {
      const auto own = table.of_class(c);
      std::transform(sum.begin(), sum.end(), own.begin(), sum.begin(), std::plus<>());
    }
    add_level(table, learned, places, sum, table.sigma * table.sigma * static_cast<double>(classes), out);
  }
  // Sums of counts by precision become means.
  for (std::size_t v = 0; v < out.counts.size(); ++v) {
    if (out.precision[v] > 0) out.counts[v] /= out.precision[v];
  }
  if (out.missing_precision > 0) out.missing /= out.missing_precision;
  return out;
}

/// The law's records of each code, drawn to what tables of groups say by inverse variance.
Eigen::VectorXd with_groups(const TreeCounts& known, const TreeLaw& law, const Learned& learned,
                            const std::vector<std::size_t>& group, const Eigen::VectorXd& counts,
                            double variance) {
  Eigen::VectorXd out(static_cast<Index>(learned.codes));
  for (std::size_t x = 0; x < learned.cells; ++x)
    out(static_cast<Index>(x)) = std::max(0.0, law.nodes[learned.tree.leaf[x]]);
  for (std::size_t x = learned.cells; x < learned.codes; ++x)
    out(static_cast<Index>(x)) = std::max(0.0, law.missing);
  if (group.empty()) return out;
  const auto groups = static_cast<std::size_t>(counts.size());
  std::vector<std::size_t> first(groups, learned.codes), last(groups, 0), members(groups, 0);
  Eigen::VectorXd own = Eigen::VectorXd::Zero(counts.size());
  for (std::size_t x = 0; x < learned.codes; ++x) {
    const std::size_t g = group[x];
    first[g] = std::min(first[g], x);
    last[g] = std::max(last[g], x + 1);
    ++members[g];
    own(static_cast<Index>(g)) += out(static_cast<Index>(x));
  }
  Eigen::VectorXd drawn = own;
  for (std::size_t g = 0; g < groups; ++g) {
    const double before = first[g] >= learned.cells
                              ? (known.missing_precision > 0 ? 1 / known.missing_precision : 1e300)
                              : law.variance(learned.tree, first[g], std::min(last[g], learned.cells));
    const auto at = static_cast<Index>(g);
    if (!(before > 0)) continue;
    const double gain = std::isfinite(before) ? before / (before + variance) : 1.0;
    drawn(at) += gain * (counts(at) - own(at));
  }
  drawn = onto_simplex(drawn, known.records);
  for (std::size_t x = 0; x < learned.codes; ++x) {
    const auto at = static_cast<Index>(x), g = static_cast<Index>(group[x]);
    out(at) = own(g) > 0 ? out(at) * drawn(g) / own(g) : drawn(g) / static_cast<double>(members[group[x]]);
  }
  return out;
}

/// Of each node of a tree, the records of its cells.
std::vector<double> nodes_of(const DyadicTree& tree, const Eigen::VectorXd& law) {
  std::vector<double> out(tree.nodes.size());
  for (std::size_t v = out.size(); v-- > 0;) {
    const DyadicTree::Node& node = tree.nodes[v];
    out[v] = node.is_cell() ? law(static_cast<Index>(node.first)) : out[node.left] + out[node.right];
  }
  return out;
}

}  // namespace

LearnedColumns learned_columns(const release::NoisyTables& tables, const std::vector<double>& size,
                               const std::vector<GroupCounts>& beside, const Heartbeat& heartbeat) {
  const std::size_t classes = tables.classes, d = tables.codes.size();
  const double records = std::accumulate(size.begin(), size.end(), 0.0);
  std::vector<Learned> learned;
  for (std::size_t j = 0; j < tables.grid_cells.size(); ++j) {
    if (const std::size_t cells = tables.grid_cells[j]; cells > 0)
      learned.push_back({j, tables.codes[j], cells, DyadicTree(cells)});
  }
  LearnedColumns out{std::vector(classes, std::vector<Eigen::VectorXd>(d)),
                     std::vector<std::vector<Tail>>(d)};
  if (learned.empty()) return out;
  std::vector<TreeCounts> known;
  for (const Learned& of : learned) known.push_back(tree_counts(tables, of, 0, classes, records));
  const std::vector<TreeLaw> all = tree_laws(known, heartbeat);
  std::vector<Eigen::VectorXd> shared;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    const GroupCounts& groups = beside[learned[i].column];
    Eigen::VectorXd sum;
    for (const Eigen::VectorXd& counts : groups.counts)
      sum = sum.size() == 0 ? counts : Eigen::VectorXd(sum + counts);
    shared.push_back(with_groups(known[i], all[i], learned[i], groups.group, sum,
                                 groups.variance * static_cast<double>(classes)));
    const std::size_t j = learned[i].column;
    if (j < tables.cell_values.size() && tables.cell_values[j].size() == learned[i].cells)
      out.tails[j] = short_tails(shared.back(), all[i], learned[i].tree, tables.cell_values[j]);
    if (classes == 1) out.laws[0][j] = shared.back();
  }
  if (classes == 1) return out;
  std::vector<TreeCounts> of_classes;
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t i = 0; i < learned.size(); ++i) {
      of_classes.push_back(tree_counts(tables, learned[i], c, 1, size[c]));
      of_classes.back().like = nodes_of(learned[i].tree, shared[i]);
    }
  }
  const std::vector<TreeLaw> laws = tree_laws(of_classes, heartbeat);
  for (std::size_t at = 0; at < laws.size(); ++at) {
    const std::size_t c = at / learned.size(), i = at % learned.size();
    const GroupCounts& groups = beside[learned[i].column];
    out.laws[c][learned[i].column] =
        with_groups(of_classes[at], laws[at], learned[i], groups.group,
                    groups.counts.empty() ? Eigen::VectorXd() : groups.counts[c], groups.variance);
  }
  return out;
}

}  // namespace muffle::pair_graph
