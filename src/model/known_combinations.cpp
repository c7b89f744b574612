#include "known_combinations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "noisy_counts.hpp"

namespace muffle::model {
namespace {

using Eigen::Index;
using release::Combination;

constexpr int kSteps = 200;
/// Where columns stand in several combinations, these are taken in turn.
constexpr int kTurns = 8;
/// Noise of counts without any.
constexpr double kLeastVariance = 1e-9;

/// Sums over parts of the cells, and what they should be.
struct Sums {
  std::vector<std::size_t> part;  ///< of each cell, row-major
  Eigen::VectorXd wanted;
  double weight = 0;  ///< mean records of a part for the variance of its noise
};

Sums sums_of(std::vector<std::size_t> part, Eigen::VectorXd wanted, double variance) {
  const double mean = wanted.sum() / static_cast<double>(wanted.size());
  return {std::move(part), std::move(wanted), mean / std::max(variance, kLeastVariance)};
}

/// Moves records between the cells until their sums are as near to what they should be as all of them can be,
/// in the mean of the Kullback-Leibler distances by their weights: steps of expectation-maximisation
/// (Richardson and Lucy). A cell that is 0 stays 0.
Eigen::VectorXd fitted(Eigen::VectorXd cells, const std::vector<Sums>& all) {
  double weights = 0;
  for (const Sums& sums : all) weights += sums.weight;
  if (!(weights > 0)) return cells;
  for (int step = 0; step < kSteps; ++step) {
    Eigen::VectorXd factor = Eigen::VectorXd::Zero(cells.size());
    for (const Sums& sums : all) {
      Eigen::VectorXd now = Eigen::VectorXd::Zero(sums.wanted.size());
      for (Index i = 0; i < cells.size(); ++i)
        now(static_cast<Index>(sums.part[static_cast<std::size_t>(i)])) += cells(i);
      for (Index i = 0; i < cells.size(); ++i) {
        const auto p = static_cast<Index>(sums.part[static_cast<std::size_t>(i)]);
        if (now(p) > 0) factor(i) += sums.weight / weights * sums.wanted(p) / now(p);
      }
    }
    cells.array() *= factor.array();
  }
  return cells;
}

/// Two columns' combinations within their margins.
class KnownPairFit {
 public:
  KnownPairFit(const Combination& which, const std::vector<double>& variance, Margins& margins)
      : which_(which), variance_(variance), margins_(margins) {
    for (std::size_t x = 0; x < which.codes[0]; ++x) {
      for (std::size_t y = 0; y < which.codes[1]; ++y) {
        rows_.push_back(x);
        columns_.push_back(y);
      }
    }
  }

  /// @returns of each class, its records in each cell.
  std::vector<Eigen::MatrixXd> run() {
    const double records = std::accumulate(margins_.size.begin(), margins_.size.end(), 0.0);
    Eigen::VectorXd rows = column(0, which_.first), columns = column(0, which_.second);
    for (std::size_t c = 1; c < margins_.classes(); ++c) {
      rows += column(c, which_.first);
      columns += column(c, which_.second);
    }
    std::vector<Sums> all = margin_sums(rows, columns);
    add_pair(records, all);
    const Eigen::VectorXd shared = fitted(allowed_product(rows, columns), all);
    std::vector<Eigen::MatrixXd> out;
    for (std::size_t c = 0; c < margins_.classes(); ++c) out.push_back(of_class(c, shared / records));
    return out;
  }

 private:
  Eigen::VectorXd& column(std::size_t c, std::size_t j) { return margins_.column[c][j]; }

  std::vector<Sums> margin_sums(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const {
    return {sums_of(rows_, rows, variance_[which_.first]),
            sums_of(columns_, columns, variance_[which_.second])};
  }

  /// Of independent columns, but 0 where nothing is allowed; nowhere else, so that all can grow.
  Eigen::VectorXd allowed_product(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const {
    const double trace = 1e-6 * rows.sum() / static_cast<double>(rows.size() + columns.size());
    Eigen::VectorXd cells = Eigen::VectorXd::Zero(static_cast<Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (which_.allowed[i])
        cells(static_cast<Index>(i)) =
            (rows(static_cast<Index>(rows_[i])) + trace) * (columns(static_cast<Index>(columns_[i])) + trace);
    }
    return cells * (rows.sum() / cells.sum());
  }

  /// What was counted of the pair, of all classes, on its groups: those that hold something that is allowed.
  void add_pair(double records, std::vector<Sums>& all) const {
    const auto pair = std::ranges::find_if(margins_.pairs, [&](const PairCounts& own) {
      return own.first == which_.first && own.second == which_.second;
    });
    if (pair == margins_.pairs.end()) return;
    const auto wide = static_cast<std::size_t>(pair->counts.front().cols());
    std::vector<std::size_t> part, number(static_cast<std::size_t>(pair->counts.front().size()));
    std::vector<bool> used(number.size(), false);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      part.push_back(pair->first_group[rows_[i]] * wide + pair->second_group[columns_[i]]);
      if (which_.allowed[i]) used[part.back()] = true;
    }
    std::vector<double> counts;
    for (std::size_t p = 0; p < number.size(); ++p) {
      if (!used[p]) continue;
      number[p] = counts.size();
      double sum = 0;
      for (const Eigen::MatrixXd& of_class : pair->counts)
        sum += of_class(static_cast<Index>(p / wide), static_cast<Index>(p % wide));
      counts.push_back(sum);
    }
    // A part without anything allowed has cells of 0: it may be any.
    for (std::size_t& p : part) p = number[p];
    all.push_back(
        sums_of(std::move(part),
                onto_simplex(Eigen::Map<const Eigen::VectorXd>(counts.data(), std::ssize(counts)), records),
                pair->sigma * pair->sigma));
  }

  /// The class's columns, on what all classes say of the cells.
  Eigen::MatrixXd of_class(std::size_t c, const Eigen::VectorXd& shared) {
    Eigen::VectorXd &rows = column(c, which_.first), &columns = column(c, which_.second);
    Eigen::VectorXd cells = shared * margins_.size[c];
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!(rows(static_cast<Index>(rows_[i])) > 0) || !(columns(static_cast<Index>(columns_[i])) > 0))
        cells(static_cast<Index>(i)) = 0;
    }
    if (!(cells.sum() > 0)) cells = shared * margins_.size[c];
    cells = fitted(std::move(cells), margin_sums(rows, columns));
    if (cells.sum() > 0) cells *= margins_.size[c] / cells.sum();
    const auto wide = static_cast<Index>(which_.codes[1]), high = static_cast<Index>(which_.codes[0]);
    const Eigen::MatrixXd out = cells.reshaped(wide, high).transpose();
    rows = out.rowwise().sum();
    columns = out.colwise().sum();
    return out;
  }

  const Combination& which_;
  const std::vector<double>& variance_;
  Margins& margins_;
  std::vector<std::size_t> rows_, columns_;  ///< of each cell
};

/// No records where the class rules a code out.
void keep_to_classes(const Combination& which, Margins& margins) {
  for (std::size_t c = 0; c < margins.classes(); ++c) {
    Eigen::VectorXd& counts = margins.column[c][which.first];
    for (Index x = 0; x < counts.size(); ++x) {
      if (!which.holds(static_cast<std::size_t>(x), c)) counts(x) = 0;
    }
    if (!(counts.sum() > 0)) {
      for (Index x = 0; x < counts.size(); ++x)
        counts(x) = which.holds(static_cast<std::size_t>(x), c) ? 1 : 0;
    }
    if (counts.sum() > 0) counts *= margins.size[c] / counts.sum();
  }
}

}  // namespace

void keep_combinations(const release::NoisyTables& tables, const std::vector<double>& variance,
                       Margins& margins) {
  std::vector<const Combination*> pairs;
  for (const Combination& which : tables.combinations) {
    if (which.second == Combination::kLabel) {
      keep_to_classes(which, margins);
    } else {
      pairs.push_back(&which);
      margins.known.push_back({which.first, which.second, which.allowed, {}});
    }
  }
  for (int pass = 0; pass < (pairs.size() > 1 ? kTurns : 1); ++pass) {
    for (std::size_t k = 0; k < pairs.size(); ++k)
      margins.known[k].counts = KnownPairFit(*pairs[k], variance, margins).run();
  }
}

}  // namespace muffle::model
