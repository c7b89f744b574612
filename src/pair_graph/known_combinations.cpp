#include "known_combinations.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "noisy_counts.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;
using release::Combination;

constexpr int kSteps = 200;
/// Where columns stand in several combinations, these are taken in turn.
constexpr int kTurns = 8;
/// A fit ends when a step moves a smaller share of the records.
constexpr double kLeastMoved = 1e-9;
/// Noise of counts without any.
constexpr double kLeastVariance = 1e-9;

/// Whether a class has records of a code: C of d, of each code. Empty: of all.
using ClassCodes = std::vector<std::vector<std::vector<bool>>>;

/// Sums over parts of the cells, and what they should be.
struct Sums {
  std::vector<std::uint32_t> part;  ///< of each cell
  Eigen::VectorXd wanted;
  double weight = 0;  ///< mean records of a part for the variance of its noise
};

Sums sums_of(std::vector<std::uint32_t> part, Eigen::VectorXd wanted, double variance) {
  const double mean = wanted.sum() / static_cast<double>(wanted.size());
  return {std::move(part), std::move(wanted), mean / std::max(variance, kLeastVariance)};
}

/// Moves records between the cells until their sums are as near to what they should be as all of them can be,
/// in the mean of the Kullback-Leibler distances by their weights: steps of expectation-maximisation
/// (Richardson and Lucy). A cell that is 0 stays 0.
Eigen::VectorXd fitted(Eigen::VectorXd cells, const std::vector<Sums>& all, const Heartbeat& heartbeat) {
  double weights = 0;
  for (const Sums& sums : all) weights += sums.weight;
  if (!(weights > 0)) return cells;
  for (int step = 0; step < kSteps; ++step) {
    beat(heartbeat);
    Eigen::VectorXd factor = Eigen::VectorXd::Zero(cells.size());
    for (const Sums& sums : all) {
      if (!(sums.weight > 0)) continue;
      Eigen::VectorXd now = Eigen::VectorXd::Zero(sums.wanted.size());
      for (Index i = 0; i < cells.size(); ++i) now(sums.part[static_cast<std::size_t>(i)]) += cells(i);
      for (Index i = 0; i < cells.size(); ++i) {
        const std::uint32_t p = sums.part[static_cast<std::size_t>(i)];
        if (now(p) > 0) factor(i) += sums.weight / weights * sums.wanted(p) / now(p);
      }
    }
    const double moved = (cells.array() * (factor.array() - 1)).abs().sum();
    cells.array() *= factor.array();
    if (!(moved > kLeastMoved * cells.sum())) break;
  }
  return cells;
}

/// Two columns' combinations within their margins.
class KnownPairFit {
 public:
  KnownPairFit(KnownPair& pair, const ClassCodes& of_classes, const std::vector<double>& variance,
               Margins& margins, const Heartbeat& heartbeat)
      : pair_(pair), of_classes_(of_classes), variance_(variance), margins_(margins), heartbeat_(heartbeat) {}

  void run() {
    const double records = std::accumulate(margins_.size.begin(), margins_.size.end(), 0.0);
    Eigen::VectorXd rows = column(0, pair_.first), columns = column(0, pair_.second);
    for (std::size_t c = 1; c < margins_.classes(); ++c) {
      rows += column(c, pair_.first);
      columns += column(c, pair_.second);
    }
    std::vector<Sums> all = margin_sums(rows, columns);
    add_pair(records, all);
    const Eigen::VectorXd shared = fitted(allowed_product(rows, columns), all, heartbeat_) / records;
    share_out(pair_.first, pair_.rows, shared, rows);
    share_out(pair_.second, pair_.columns, shared, columns);
    pair_.counts.clear();
    for (std::size_t c = 0; c < margins_.classes(); ++c) pair_.counts.push_back(of_class(c, shared));
  }

 private:
  Eigen::VectorXd& column(std::size_t c, std::size_t j) { return margins_.column[c][j]; }

  /// What all classes have of each code changes from `before` to the cells' sums: each class's in proportion.
  void share_out(std::size_t j, const std::vector<std::uint32_t>& codes, const Eigen::VectorXd& shared,
                 const Eigen::VectorXd& before) {
    Eigen::VectorXd share = Eigen::VectorXd::Zero(before.size());
    for (std::size_t i = 0; i < codes.size(); ++i) share(codes[i]) += shared(static_cast<Index>(i));
    for (std::size_t c = 0; c < margins_.classes(); ++c) {
      Eigen::VectorXd& own = column(c, j);
      for (Index x = 0; x < own.size(); ++x)
        own(x) = share(x) * (before(x) > 0 ? before.sum() * own(x) / before(x) : margins_.size[c]);
      if (own.sum() > 0) own *= margins_.size[c] / own.sum();
    }
  }

  std::vector<Sums> margin_sums(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const {
    return {sums_of(pair_.rows, rows, variance_[pair_.first]),
            sums_of(pair_.columns, columns, variance_[pair_.second])};
  }

  /// Of independent columns; 0 nowhere, so that all can grow.
  Eigen::VectorXd allowed_product(const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const {
    const double trace = 1e-6 * rows.sum() / static_cast<double>(rows.size() + columns.size());
    Eigen::VectorXd cells(std::ssize(pair_.rows));
    for (std::size_t i = 0; i < pair_.rows.size(); ++i)
      cells(static_cast<Index>(i)) = (rows(pair_.rows[i]) + trace) * (columns(pair_.columns[i]) + trace);
    return cells * (rows.sum() / cells.sum());
  }

  /// What was counted of the pair, of all classes, on its groups: those that hold something that is allowed.
  void add_pair(double records, std::vector<Sums>& all) const {
    const auto pair = std::ranges::find_if(margins_.pairs, [&](const PairCounts& own) {
      return own.first == pair_.first && own.second == pair_.second;
    });
    if (pair == margins_.pairs.end()) return;
    const auto wide = static_cast<std::size_t>(pair->counts.front().cols());
    std::vector<std::uint32_t> part;
    std::map<std::size_t, std::uint32_t> number;  // of the groups' cells
    std::vector<double> counts;
    for (std::size_t i = 0; i < pair_.rows.size(); ++i) {
      const std::size_t x = pair->first_group[pair_.rows[i]], y = pair->second_group[pair_.columns[i]];
      const auto [at, is_new] = number.try_emplace(x * wide + y, static_cast<std::uint32_t>(counts.size()));
      part.push_back(at->second);
      if (!is_new) continue;
      double& sum = counts.emplace_back(0.0);
      for (const Eigen::MatrixXd& of_class : pair->counts)
        sum += of_class(static_cast<Index>(x), static_cast<Index>(y));
    }
    all.push_back(
        sums_of(std::move(part),
                onto_simplex(Eigen::Map<const Eigen::VectorXd>(counts.data(), std::ssize(counts)), records),
                pair->sigma * pair->sigma));
  }

  bool may_have(std::size_t c, std::size_t j, std::uint32_t code) const {
    return of_classes_.empty() || of_classes_[c][j].empty() || of_classes_[c][j][code];
  }

  /// Where the class's records may be: by the laws of its columns; where these leave nothing, by the schema;
  /// and where all classes have none there, alike. @param shared  shares of all classes' records
  Eigen::VectorXd start_of_class(std::size_t c, const Eigen::VectorXd& shared) {
    const Eigen::VectorXd &rows = column(c, pair_.first), &columns = column(c, pair_.second);
    Eigen::VectorXd may = Eigen::VectorXd::Zero(shared.size()), cells = may;
    for (std::size_t i = 0; i < pair_.rows.size(); ++i) {
      const std::uint32_t x = pair_.rows[i], y = pair_.columns[i];
      if (!may_have(c, pair_.first, x) || !may_have(c, pair_.second, y)) continue;
      may(static_cast<Index>(i)) = 1;
      if (rows(x) > 0 && columns(y) > 0) cells(static_cast<Index>(i)) = shared(static_cast<Index>(i));
    }
    if (!(cells.sum() > 0)) cells = shared.cwiseProduct(may);
    return cells.sum() > 0 ? cells : may;
  }

  /// The class's columns, on what all classes say of the cells.
  Eigen::VectorXd of_class(std::size_t c, const Eigen::VectorXd& shared) {
    Eigen::VectorXd &rows = column(c, pair_.first), &columns = column(c, pair_.second);
    const Eigen::VectorXd start = start_of_class(c, shared) * margins_.size[c];
    Eigen::VectorXd cells = fitted(start, margin_sums(rows, columns), heartbeat_);
    if (!(cells.sum() > 0)) cells = start;
    if (cells.sum() > 0) cells *= margins_.size[c] / cells.sum();
    rows.setZero();
    columns.setZero();
    for (std::size_t i = 0; i < pair_.rows.size(); ++i) {
      rows(pair_.rows[i]) += cells(static_cast<Index>(i));
      columns(pair_.columns[i]) += cells(static_cast<Index>(i));
    }
    return cells;
  }

  KnownPair& pair_;
  const ClassCodes& of_classes_;
  const std::vector<double>& variance_;
  Margins& margins_;
  const Heartbeat& heartbeat_;
};

/// No records where the class rules a code out.
void keep_to_classes(const Combination& which, Margins& margins, ClassCodes& of_classes) {
  of_classes.resize(margins.classes(), std::vector<std::vector<bool>>(margins.codes.size()));
  for (std::size_t c = 0; c < margins.classes(); ++c) {
    Eigen::VectorXd& counts = margins.column[c][which.first];
    for (Index x = 0; x < counts.size(); ++x) {
      of_classes[c][which.first].push_back(which.holds(static_cast<std::size_t>(x), c));
      if (!of_classes[c][which.first].back()) counts(x) = 0;
    }
    if (!(counts.sum() > 0)) {
      for (Index x = 0; x < counts.size(); ++x)
        counts(x) = which.holds(static_cast<std::size_t>(x), c) ? 1 : 0;
    }
    if (counts.sum() > 0) counts *= margins.size[c] / counts.sum();
  }
}

KnownPair known_pair(const Combination& which) {
  KnownPair out{which.first, which.second, which.allowed, {}, {}};
  for (std::size_t x = 0; x < which.codes[0]; ++x) {
    for (std::size_t y = 0; y < which.codes[1]; ++y) {
      if (!which.holds(x, y)) continue;
      out.rows.push_back(static_cast<std::uint32_t>(x));
      out.columns.push_back(static_cast<std::uint32_t>(y));
    }
  }
  return out;
}

bool share_a_column(const KnownPair& a, const KnownPair& b) {
  return a.first == b.first || a.first == b.second || a.second == b.first || a.second == b.second;
}

}  // namespace

Eigen::MatrixXd KnownPair::table(std::size_t c, const std::vector<std::size_t>& codes) const {
  Eigen::MatrixXd out =
      Eigen::MatrixXd::Zero(static_cast<Index>(codes[first]), static_cast<Index>(codes[second]));
  for (std::size_t i = 0; i < rows.size(); ++i) out(rows[i], columns[i]) = counts[c](static_cast<Index>(i));
  return out;
}

void keep_combinations(const release::NoisyTables& tables, const std::vector<double>& variance,
                       Margins& margins, const Heartbeat& heartbeat) {
  ClassCodes of_classes;
  for (const Combination& which : tables.combinations) {
    if (which.second == Combination::kLabel) {
      keep_to_classes(which, margins, of_classes);
    } else {
      margins.known.push_back(known_pair(which));
    }
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (KnownPair& pair : margins.known) {
      const auto shares = [&](const KnownPair& other) {
        return &other != &pair && share_a_column(other, pair);
      };
      if (turn == 0 || std::ranges::any_of(margins.known, shares))
        KnownPairFit(pair, of_classes, variance, margins, heartbeat).run();
    }
  }
}

}  // namespace muffle::pair_graph
