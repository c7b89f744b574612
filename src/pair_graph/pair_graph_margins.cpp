#include "pair_graph_margins.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "known_combinations.hpp"
#include "noisy_counts.hpp"
#include "rows_law.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

/// One table's counts, summed over all columns but one or two.
struct View {
  Eigen::MatrixXd counts;  ///< one column: groups x 1
  double variance = 0;     ///< of a cell
  /// Which group each code is in, for rows and columns.
  std::vector<std::size_t> row_group, column_group;

  bool is_fine() const {
    return static_cast<std::size_t>(counts.rows()) == row_group.size() &&
           static_cast<std::size_t>(counts.cols()) == column_group.size();
  }
};

std::vector<std::size_t> groups_of(const release::NoisyTable& table, std::size_t axis, std::size_t codes) {
  std::vector<std::size_t> group(codes);
  std::iota(group.begin(), group.end(), std::size_t{0});
  if (axis < table.groups.size() && !table.groups[axis].empty())
    group.assign(table.groups[axis].begin(), table.groups[axis].end());
  return group;
}

/// @param second  npos: one column is kept
View view_of(const release::NoisyTables& all, const release::NoisyTable& table, std::size_t c,
             std::size_t first, std::size_t second) {
  const bool two = second < table.columns.size();
  std::size_t cells = 1;
  for (const std::size_t size : table.sizes) cells *= size;
  const std::size_t rows = table.sizes[first], columns = two ? table.sizes[second] : 1;
  View view;
  view.counts = Eigen::MatrixXd::Zero(static_cast<Index>(rows), static_cast<Index>(columns));
  view.variance = table.sigma * table.sigma * static_cast<double>(cells / (rows * columns));
  view.row_group = groups_of(table, first, all.codes[table.columns[first]]);
  view.column_group =
      two ? groups_of(table, second, all.codes[table.columns[second]]) : std::vector<std::size_t>{0};
  std::vector<std::size_t> at(table.sizes.size());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::size_t axis = at.size(), left = cell; axis-- > 0; left /= table.sizes[axis])
      at[axis] = left % table.sizes[axis];
    view.counts(static_cast<Index>(at[first]), static_cast<Index>(two ? at[second] : 0)) +=
        table.counts[c * cells + cell];
  }
  return view;
}

/// Whether every group of `fine` lies in one group of `coarse`; then which.
bool lies_in(const std::vector<std::size_t>& fine, const std::vector<std::size_t>& coarse,
             std::vector<std::size_t>& where) {
  where.assign(1 + *std::max_element(fine.begin(), fine.end()), coarse.size());
  for (std::size_t code = 0; code < fine.size(); ++code) {
    std::size_t& to = where[fine[code]];
    if (to != coarse.size() && to != coarse[code]) return false;
    to = coarse[code];
  }
  return true;
}

/// The views' inverse-variance mean on the finest groups that one of them has. A coarser one corrects the
/// sums of the groups that it counted, by the ratio of the noise; what cannot be nested is left out.
View combine(std::vector<View> views) {
  std::stable_sort(views.begin(), views.end(), [](const View& a, const View& b) {
    return a.counts.size() > b.counts.size() ||
           (a.counts.size() == b.counts.size() && a.variance < b.variance);
  });
  View out = std::move(views.front());
  for (std::size_t v = 1; v < views.size(); ++v) {
    const View& next = views[v];
    std::vector<std::size_t> row, column;
    if (!lies_in(out.row_group, next.row_group, row) || !lies_in(out.column_group, next.column_group, column))
      continue;
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(next.counts.rows(), next.counts.cols()), cells = sum;
    for (Index x = 0; x < out.counts.rows(); ++x) {
      for (Index y = 0; y < out.counts.cols(); ++y) {
        const auto g = static_cast<Index>(row[static_cast<std::size_t>(x)]),
                   h = static_cast<Index>(column[static_cast<std::size_t>(y)]);
        sum(g, h) += out.counts(x, y);
        cells(g, h) += 1;
      }
    }
    double gained = 0;
    Eigen::MatrixXd correction = Eigen::MatrixXd::Zero(sum.rows(), sum.cols());
    for (Index g = 0; g < sum.rows(); ++g) {
      for (Index h = 0; h < sum.cols(); ++h) {
        const double own = cells(g, h) * out.variance;
        if (!(own + next.variance > 0)) continue;
        const double gain = own / (own + next.variance);
        gained += gain * out.variance;
        correction(g, h) = gain * (next.counts(g, h) - sum(g, h)) / std::max(cells(g, h), 1.0);
      }
    }
    for (Index x = 0; x < out.counts.rows(); ++x) {
      for (Index y = 0; y < out.counts.cols(); ++y)
        out.counts(x, y) += correction(static_cast<Index>(row[static_cast<std::size_t>(x)]),
                                       static_cast<Index>(column[static_cast<std::size_t>(y)]));
    }
    out.variance = std::max(0.0, out.variance - gained / static_cast<double>(out.counts.size()));
  }
  return out;
}

/// Number j of a record among a table's columns; none: columns.size().
std::size_t axis_of(const release::NoisyTable& table, std::size_t j) {
  return static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), j) -
                                  table.columns.begin());
}

/// For each pair of columns, the lower one first, the tables that count it.
std::map<std::pair<std::size_t, std::size_t>, std::vector<const release::NoisyTable*>> tables_of_pairs(
    const release::NoisyTables& tables) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const release::NoisyTable*>> out;
  for (const release::NoisyTable& table : tables.tables) {
    for (const std::size_t i : table.columns) {
      for (const std::size_t j : table.columns) {
        if (i < j) out[{i, j}].push_back(&table);
      }
    }
  }
  return out;
}

std::vector<double> class_sizes(const release::NoisyTables& tables) {
  Eigen::VectorXd size = Eigen::VectorXd::Zero(static_cast<Index>(tables.classes));
  double weights = 0;
  for (const release::NoisyTable& table : tables.tables) {
    const std::size_t cells = table.counts.size() / tables.classes;
    const double weight = 1 / std::max(1e-12, table.sigma * table.sigma * static_cast<double>(cells));
    for (std::size_t c = 0; c < tables.classes; ++c) {
      const auto from = table.counts.begin() + static_cast<std::ptrdiff_t>(c * cells);
      size(static_cast<Index>(c)) +=
          weight * std::accumulate(from, from + static_cast<std::ptrdiff_t>(cells), 0.0);
    }
    weights += weight;
  }
  if (weights > 0) size /= weights;
  // A class keeps one record, for a law of its own to be the law of.
  size = onto_simplex(size, std::max(1.0, tables.records)).cwiseMax(1.0);
  return {size.data(), size.data() + size.size()};
}

/// One column's counts as the tables have them.
struct ColumnCounts {
  std::vector<Eigen::VectorXd> counts;  ///< C of the codes
  double variance = 0;                  ///< of a cell
  bool counted = false;                 ///< by any table; else they are alike
};

ColumnCounts column_counts(const release::NoisyTables& tables, std::size_t j,
                           const std::vector<double>& size) {
  const auto codes = static_cast<Index>(tables.codes[j]);
  ColumnCounts out;
  for (std::size_t c = 0; c < tables.classes; ++c) {
    std::vector<View> views;
    for (const release::NoisyTable& table : tables.tables) {
      const std::size_t axis = axis_of(table, j);
      if (axis < table.columns.size()) views.push_back(view_of(tables, table, c, axis, table.columns.size()));
    }
    Eigen::VectorXd fine = Eigen::VectorXd::Constant(codes, size[c] / static_cast<double>(codes));
    if (!views.empty()) {
      const View view = combine(std::move(views));
      std::vector<double> members(static_cast<std::size_t>(view.counts.rows()));
      for (const std::size_t g : view.row_group) members[g] += 1;
      for (Index x = 0; x < codes; ++x) {
        const std::size_t g = view.row_group[static_cast<std::size_t>(x)];
        fine(x) = view.counts(static_cast<Index>(g), 0) / members[g];
      }
      out.variance = view.variance;
      out.counted = true;
    }
    out.counts.push_back(std::move(fine));
  }
  return out;
}

bool is_learned(const release::NoisyTables& tables, std::size_t j) {
  return !tables.grid_cells.empty() && tables.grid_cells[j] > 0;
}

/// What the tables of several columns say of each column whose bins are learned.
std::vector<GroupCounts> counts_beside(const release::NoisyTables& tables) {
  std::vector<GroupCounts> out(tables.codes.size());
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (!is_learned(tables, j)) continue;
    for (std::size_t c = 0; c < tables.classes; ++c) {
      std::vector<View> views;
      for (const release::NoisyTable& table : tables.tables) {
        const std::size_t axis = axis_of(table, j);
        if (table.columns.size() > 1 && axis < table.columns.size())
          views.push_back(view_of(tables, table, c, axis, table.columns.size()));
      }
      if (views.empty()) break;
      View view = combine(std::move(views));
      out[j].variance = view.variance;
      out[j].group = std::move(view.row_group);
      out[j].counts.emplace_back(view.counts.col(0));
    }
  }
  return out;
}

/// Every column's counts in each class: each class's drawn to its share of all classes' by the ratio of noise
/// (James and Stein), and then, as all classes' were, to what its codes' counts are beforehand: most codes of
/// a class are rare, and one that has none of them may not seem to have some (a few incomes of 99,999 are a
/// law of their own).
/// @param variance  d of infinity; becomes that of the noise in a code's count, of each column that a table
/// counts and whose bins are not learned
/// @param tails  becomes LearnedColumns::tails
std::vector<std::vector<Eigen::VectorXd>> column_laws(const release::NoisyTables& tables,
                                                      const std::vector<double>& size,
                                                      std::vector<double>& variance,
                                                      std::vector<std::vector<Tail>>& tails) {
  const std::size_t classes = tables.classes;
  const double records = std::accumulate(size.begin(), size.end(), 0.0);
  LearnedColumns learned = learned_columns(tables, size, counts_beside(tables), Heartbeat{});
  tails = std::move(learned.tails);
  std::vector<std::vector<Eigen::VectorXd>> out = std::move(learned.laws);
  std::vector<std::size_t> others;
  std::vector<ColumnCounts> columns;
  std::vector<NoisyCounts> all;
  for (std::size_t j = 0; j < tables.codes.size(); ++j) {
    if (is_learned(tables, j) || j == tables.row_number) continue;
    others.push_back(j);
    const ColumnCounts& column = columns.emplace_back(column_counts(tables, j, size));
    NoisyCounts& sum =
        all.emplace_back(NoisyCounts{column.counts.front(), column.variance * static_cast<double>(classes)});
    for (std::size_t c = 1; c < classes; ++c) sum.counts += column.counts[c];
    if (column.counted) variance[j] = column.variance;
  }
  for (NoisyCounts& sum : all) sum = smoothed(sum);
  std::vector<Eigen::VectorXd> shared = posterior_counts(all, records);
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<Eigen::VectorXd> laws = shared;
    if (classes > 1) {
      std::vector<NoisyCounts> drawn;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Eigen::VectorXd share = shared[i] * (size[c] / records), own = columns[i].counts[c] - share;
        // What is above the noise, and not more than its records can differ by.
        const double noise = columns[i].variance * static_cast<double>(own.size() - 1);
        const double signal = std::clamp(own.squaredNorm() - noise, 0.0, size[c] * size[c]);
        const double keep = signal > 0 ? signal / (signal + noise) : 0.0;
        drawn.push_back({share + keep * own, keep * keep * columns[i].variance});
      }
      laws = posterior_counts(drawn, size[c]);
    }
    for (std::size_t i = 0; i < others.size(); ++i) out[c][others[i]] = std::move(laws[i]);
  }
  if (!tables.row_number) return out;
  const std::vector<double> law = rows_law(tables);
  for (std::size_t c = 0; c < classes; ++c)
    out[c][*tables.row_number] = size[c] * Eigen::Map<const Eigen::VectorXd>(law.data(), std::ssize(law));
  return out;
}

}  // namespace

Margins combine_tables(const release::NoisyTables& tables, const Heartbeat& heartbeat) {
  Margins out;
  out.codes = tables.codes;
  out.size = class_sizes(tables);
  std::vector<double> variance(tables.codes.size(), std::numeric_limits<double>::infinity());
  out.column = column_laws(tables, out.size, variance, out.tails);
  for (std::size_t j = 0; j < tables.codes.size(); ++j) {
    const bool may_miss = is_learned(tables, j) && tables.codes[j] > tables.grid_cells[j];
    out.order.push_back(may_miss                ? Order::kNumbersAndMissing
                        : is_learned(tables, j) ? Order::kNumbers
                                                : Order::kNone);
  }
  for (const auto& [which, counting] : tables_of_pairs(tables)) {
    const auto [i, j] = which;
    PairCounts& pair = out.pairs.emplace_back(PairCounts{i, j, {}, {}, {}, 0.0});
    for (std::size_t c = 0; c < tables.classes; ++c) {
      std::vector<View> views;
      for (const release::NoisyTable* table : counting)
        views.push_back(view_of(tables, *table, c, axis_of(*table, i), axis_of(*table, j)));
      View view = combine(std::move(views));
      pair.sigma = std::sqrt(view.variance);
      pair.first_group = std::move(view.row_group);
      pair.second_group = std::move(view.column_group);
      pair.counts.push_back(std::move(view.counts));
    }
  }
  keep_combinations(tables, variance, out, heartbeat);
  return out;
}

}  // namespace muffle::pair_graph
