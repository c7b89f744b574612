#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "noisy_counts.hpp"
#include "pair_graph_interactions.hpp"
#include "pair_graph_margins.hpp"
#include "rising_pairs.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

constexpr int kProjections = 20;

Eigen::MatrixXd double_centred(Eigen::MatrixXd m) {
  m.colwise() -= m.rowwise().mean().eval();
  m.rowwise() -= m.colwise().mean().eval();
  return m;
}

Eigen::VectorXd grouped(const Eigen::VectorXd& counts, const std::vector<std::size_t>& group, Index groups) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(groups);
  for (Index x = 0; x < counts.size(); ++x)
    out(static_cast<Index>(group[static_cast<std::size_t>(x)])) += counts(x);
  return out;
}

/// Each code's share of its group's `counts`; even where there are none.
Eigen::VectorXd shares(const Eigen::VectorXd& counts, const std::vector<std::size_t>& group, Index groups) {
  const Eigen::VectorXd sums = grouped(counts, group, groups),
                        members = grouped(Eigen::VectorXd::Ones(counts.size()), group, groups);
  Eigen::VectorXd out(counts.size());
  for (Index x = 0; x < counts.size(); ++x) {
    const auto g = static_cast<Index>(group[static_cast<std::size_t>(x)]);
    out(x) = sums(g) > 0 ? counts(x) / sums(g) : 1 / members(g);
  }
  return out;
}

/// The nearest table that is not negative and has these margins: Dykstra's alternating projections. Cells
/// that noise alone fills lose as much as the noise took from others; cut off at 0 only, they would all keep
/// theirs.
Eigen::MatrixXd nearest_table(Eigen::MatrixXd table, const Eigen::VectorXd& rows,
                              const Eigen::VectorXd& columns) {
  Eigen::MatrixXd by_rows = Eigen::MatrixXd::Zero(table.rows(), table.cols()), by_columns = by_rows;
  for (int step = 0; step < kProjections; ++step) {
    by_rows += table;
    for (Index x = 0; x < table.rows(); ++x)
      table.row(x) = onto_simplex(by_rows.row(x).transpose(), rows(x)).transpose();
    by_rows -= table;
    by_columns += table;
    for (Index y = 0; y < table.cols(); ++y) table.col(y) = onto_simplex(by_columns.col(y), columns(y));
    by_columns -= table;
  }
  return table;
}

/// Of all classes together: what numbers have of rising together, and what is left beside that.
std::vector<Interaction> shared_interactions(std::vector<NoisyInteraction> all,
                                             const std::vector<Order>& order, const Heartbeat& heartbeat) {
  const std::vector<Interaction> rising = rising_together(all, order, heartbeat);
  const auto rises = [&](std::size_t p) { return rising[p].mean.size() > 0 && rising[p].is_seen(); };
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (rises(p)) all[p].measured -= rising[p].mean;
  }
  std::vector<Interaction> out = posterior_means(all, heartbeat);
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (!rises(p)) continue;
    // What noise hides beside it is left out.
    if (!out[p].is_seen()) out[p] = {Eigen::MatrixXd::Zero(out[p].mean.rows(), out[p].mean.cols()), 0.0};
    out[p].mean += rising[p].mean;
    out[p].variance += rising[p].variance;
  }
  return out;
}

}  // namespace

Eigen::MatrixXd with_margins(Eigen::MatrixXd table, const Eigen::VectorXd& rows,
                             const Eigen::VectorXd& columns) {
  const double total = rows.sum();
  if (!(total > 0)) return Eigen::MatrixXd::Zero(table.rows(), table.cols());
  const Eigen::MatrixXd independent = rows * columns.transpose() / total;
  table = nearest_table(std::move(table), rows, columns).cwiseMax(1e-3 * independent);
  for (int step = 0; step < 30; ++step) {
    for (Index x = 0; x < table.rows(); ++x) {
      const double sum = table.row(x).sum();
      if (sum > 0) table.row(x) *= rows(x) / sum;
    }
    for (Index y = 0; y < table.cols(); ++y) {
      const double sum = table.col(y).sum();
      if (sum > 0) table.col(y) *= columns(y) / sum;
    }
  }
  return table;
}

std::vector<std::vector<NoisyInteraction>> noisy_interactions(const Margins& margins) {
  std::vector<std::vector<NoisyInteraction>> out(margins.classes());
  for (const PairCounts& pair : margins.pairs) {
    const Index first = pair.counts.front().rows(), second = pair.counts.front().cols();
    for (std::size_t c = 0; c < out.size(); ++c) {
      const Eigen::VectorXd a = grouped(margins.column[c][pair.first], pair.first_group, first),
                            b = grouped(margins.column[c][pair.second], pair.second_group, second);
      out[c].push_back({pair.first, pair.second,
                        double_centred(pair.counts[c] - a * b.transpose() / margins.size[c]), pair.sigma, a,
                        b});
    }
  }
  return out;
}

std::vector<PairLaw> shrink_interactions(const Margins& margins, const Heartbeat& heartbeat) {
  const std::size_t classes = margins.classes(), pairs = margins.pairs.size();
  std::vector<std::vector<NoisyInteraction>> own = noisy_interactions(margins);
  std::vector<NoisyInteraction> all;
  for (std::size_t p = 0; p < pairs; ++p) {
    NoisyInteraction& sum = all.emplace_back(own.front()[p]);
    sum.sigma *= std::sqrt(static_cast<double>(classes));
    for (std::size_t c = 1; c < classes; ++c) {
      sum.measured += own[c][p].measured;
      sum.rows += own[c][p].rows;
      sum.columns += own[c][p].columns;
    }
  }
  const std::vector<Interaction> shared = shared_interactions(std::move(all), margins.order, heartbeat);
  std::vector<std::vector<bool>> seen(classes);
  std::vector<std::vector<Eigen::MatrixXd>> kept(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t p = 0; p < pairs; ++p) {
      // With the same whitened interaction in each class.
      const auto spread = [&](std::size_t k) {
        return Eigen::ArrayXXd((own[k][p].rows * own[k][p].columns.transpose()).array().sqrt());
      };
      Eigen::ArrayXXd sum = spread(0);
      for (std::size_t k = 1; k < classes; ++k) sum += spread(k);
      kept[c].push_back(double_centred(
          (shared[p].mean.array() * spread(c) / sum.max(std::numeric_limits<double>::min())).matrix()));
      own[c][p].measured -= kept[c].back();
      seen[c].push_back(shared[p].is_seen());
    }
    if (classes == 1) continue;
    const std::vector<Interaction> rest = posterior_means(own[c], heartbeat);
    for (std::size_t p = 0; p < pairs; ++p) {
      kept[c][p] += rest[p].mean;
      if (rest[p].is_seen()) seen[c][p] = true;
    }
  }
  std::vector<PairLaw> out(pairs);
  for (std::size_t p = 0; p < pairs; ++p) {
    const PairCounts& pair = margins.pairs[p];
    for (std::size_t c = 0; c < classes; ++c) {
      const Eigen::VectorXd &a = margins.column[c][pair.first], &b = margins.column[c][pair.second];
      const Eigen::VectorXd row_share = shares(a, pair.first_group, own[c][p].rows.size()),
                            column_share = shares(b, pair.second_group, own[c][p].columns.size());
      const double size = margins.size[c];
      Eigen::MatrixXd table = a * b.transpose() / size;
      for (Index x = 0; x < table.rows(); ++x) {
        for (Index y = 0; y < table.cols(); ++y)
          table(x, y) += row_share(x) * column_share(y) *
                         kept[c][p](static_cast<Index>(pair.first_group[static_cast<std::size_t>(x)]),
                                    static_cast<Index>(pair.second_group[static_cast<std::size_t>(y)]));
      }
      out[p].push_back(seen[c][p] ? Eigen::MatrixXd(with_margins(std::move(table), a, b) / size)
                                  : Eigen::MatrixXd());
    }
  }
  return out;
}

}  // namespace muffle::pair_graph
