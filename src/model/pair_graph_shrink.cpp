#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pair_graph_margins.hpp"

namespace muffle::model {
namespace {

using Eigen::Index;

/// Gavish and Donoho, "Optimal shrinkage of singular values" (IEEE Trans. Inf. Theory 2017), Frobenius loss:
/// of rows x columns with independent noise of this standard deviation.
double shrunk(double singular, double sigma, double rows, double columns) {
  if (!(sigma > 0)) return singular;
  const double few = std::max(1.0, std::min(rows, columns)), many = std::max(1.0, std::max(rows, columns));
  const double beta = few / many, y = singular / (sigma * std::sqrt(many));
  if (!(y > 1 + std::sqrt(beta))) return 0.0;
  const double t = y * y - beta - 1;
  return sigma * std::sqrt(many) * std::sqrt(std::max(0.0, t * t - 4 * beta)) / y;
}

Eigen::MatrixXd double_centred(Eigen::MatrixXd m) {
  m.colwise() -= m.rowwise().mean().eval();
  m.rowwise() -= m.colwise().mean().eval();
  return m;
}

Eigen::MatrixXd shrink_matrix(const Eigen::MatrixXd& m, double sigma) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(m, Eigen::ComputeThinU | Eigen::ComputeThinV);
  Eigen::VectorXd s = svd.singularValues();
  for (Index k = 0; k < s.size(); ++k)
    s(k) = shrunk(s(k), sigma, static_cast<double>(m.rows() - 1), static_cast<double>(m.cols() - 1));
  return svd.matrixU() * s.asDiagonal() * svd.matrixV().transpose();
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

}  // namespace

Eigen::MatrixXd with_margins(Eigen::MatrixXd table, const Eigen::VectorXd& rows,
                             const Eigen::VectorXd& columns) {
  const double total = rows.sum();
  if (!(total > 0)) return Eigen::MatrixXd::Zero(table.rows(), table.cols());
  const Eigen::MatrixXd independent = rows * columns.transpose() / total;
  table = table.cwiseMax(1e-3 * independent);
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

std::vector<PairLaw> shrink_interactions(const Margins& margins, const Heartbeat& heartbeat) {
  const std::size_t classes = margins.classes();
  const double records = std::accumulate(margins.size.begin(), margins.size.end(), 0.0);
  std::vector<PairLaw> out;
  for (const PairCounts& pair : margins.pairs) {
    beat(heartbeat);
    const Index rows = pair.counts.front().rows(), columns = pair.counts.front().cols();
    std::vector<Eigen::MatrixXd> interaction;
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(rows, columns);
    for (std::size_t c = 0; c < classes; ++c) {
      const Eigen::VectorXd a = grouped(margins.column[c][pair.first], pair.first_group, rows),
                            b = grouped(margins.column[c][pair.second], pair.second_group, columns);
      const double size = margins.size[c];
      interaction.push_back(double_centred(pair.counts[c] - a * b.transpose() / size));
      all += interaction.back();
    }
    all = shrink_matrix(all, pair.sigma * std::sqrt(static_cast<double>(classes)));
    bool any = false;
    for (std::size_t c = 0; c < classes; ++c) {
      const Eigen::MatrixXd shared = all * (margins.size[c] / records);
      Eigen::MatrixXd kept = shared;
      if (classes > 1) kept += shrink_matrix(interaction[c] - shared, pair.sigma);
      any = any || kept.squaredNorm() > 0;
      interaction[c] = std::move(kept);
    }
    PairLaw law;
    for (std::size_t c = 0; any && c < classes; ++c) {
      const Eigen::VectorXd &a = margins.column[c][pair.first], &b = margins.column[c][pair.second];
      const Eigen::VectorXd row_share = shares(a, pair.first_group, rows),
                            column_share = shares(b, pair.second_group, columns);
      const double size = margins.size[c];
      Eigen::MatrixXd table = a * b.transpose() / size;
      for (Index x = 0; x < table.rows(); ++x) {
        for (Index y = 0; y < table.cols(); ++y)
          table(x, y) += row_share(x) * column_share(y) *
                         interaction[c](static_cast<Index>(pair.first_group[static_cast<std::size_t>(x)]),
                                        static_cast<Index>(pair.second_group[static_cast<std::size_t>(y)]));
      }
      law.push_back(with_margins(std::move(table), a, b) / size);
    }
    out.push_back(std::move(law));
  }
  return out;
}

}  // namespace muffle::model
