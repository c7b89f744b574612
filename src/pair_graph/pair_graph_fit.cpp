#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coarse_margins.hpp"
#include "muffle/core/error.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "pair_graph_chains.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

/// The mean of the parameters of the last half of these is kept.
constexpr std::size_t kFitSteps = 40;
/// The others only come near: so many times fewer chains show where to.
constexpr std::size_t kFewerAtFirst = 4;
/// More sweeps than these are drawn, but not fitted to.
constexpr std::size_t kMostFittedSweeps = 16;
/// Share of a step's log ratio that is taken. A record lies in many pairs, which all correct it, but a
/// column's own law is corrected once.
constexpr double kPairRate = 0.1, kFieldRate = 0.6;
/// Share of the last step that is taken again.
constexpr float kMomentum = 0.5f;
/// Largest log ratio.
constexpr double kMostStep = 0.5;

double mutual_information(const Eigen::MatrixXd& table) {
  const Eigen::VectorXd a = table.rowwise().sum(), b = table.colwise().sum();
  double sum = 0;
  for (Index x = 0; x < table.rows(); ++x) {
    for (Index y = 0; y < table.cols(); ++y) {
      if (table(x, y) > 0) sum += table(x, y) * std::log(table(x, y) / (a(x) * b(y)));
    }
  }
  return sum;
}

/// More mutual information than there is.
constexpr double kForced = 1e6;
/// The logarithm of what never is: the sampler's floats have no room for it beside anything else.
constexpr float kNever = -1000.0f;
/// That of what is allowed, and was not seen.
constexpr double kHardlyEver = -20.0;

/// A pair that the law of a class keeps.
struct Kept {
  std::size_t first, second;
  const Eigen::MatrixXd* law;
  double sigma = 0;                  ///< of the noise in a cell, records, where it was counted
  const KnownPair* known = nullptr;  ///< which codes go together; null: all may
};

/// Prim's maximum spanning tree by mutual information; pairs that are not kept weigh nothing. Those whose
/// combinations are known come first: what is drawn from the tree holds them.
std::vector<PairGraphLaw::Branch> spanning_tree(const std::vector<Eigen::VectorXd>& column,
                                                const std::vector<Kept>& kept) {
  const std::size_t d = column.size();
  std::vector<double> weight(d * d, 0.0);
  std::vector<const Eigen::MatrixXd*> law(d * d, nullptr);
  for (const Kept& pair : kept) {
    weight[pair.first * d + pair.second] = weight[pair.second * d + pair.first] =
        mutual_information(*pair.law) + (pair.known ? kForced : 0.0);
    law[pair.first * d + pair.second] = pair.law;
  }
  std::vector<PairGraphLaw::Branch> tree;
  std::vector<double> best(d, 0.0);
  std::vector<std::size_t> parent(d);
  std::vector<bool> in(d, false);
  for (std::size_t j = 0; j < d; ++j) parent[j] = j;
  for (std::size_t n = 0; n < d; ++n) {
    std::size_t next = d;
    for (std::size_t j = 0; j < d; ++j) {
      if (!in[j] && (next == d || best[j] > best[next])) next = j;
    }
    in[next] = true;
    PairGraphLaw::Branch branch{next, parent[next], {}};
    const Eigen::VectorXd own = column[next] / column[next].sum();
    const bool root = branch.parent == next;
    const auto rows = root ? Index{1} : column[branch.parent].size();
    for (Index row = 0; row < rows; ++row) {
      Eigen::VectorXd given = own;
      if (!root) {
        const bool upright = branch.parent < next;
        const Eigen::MatrixXd& table =
            *law[std::min(branch.parent, next) * d + std::max(branch.parent, next)];
        const Eigen::VectorXd joint =
            upright ? Eigen::VectorXd(table.row(row).transpose()) : Eigen::VectorXd(table.col(row));
        if (joint.sum() > 0) given = joint / joint.sum();
      }
      for (Index x = 0; x < given.size(); ++x) branch.given.push_back(static_cast<float>(given(x)));
    }
    tree.push_back(std::move(branch));
    for (std::size_t j = 0; j < d; ++j) {
      if (in[j] || !(weight[next * d + j] > best[j])) continue;
      best[j] = weight[next * d + j];
      parent[j] = next;
    }
  }
  return tree;
}

/// Means over the pairs that were counted.
CellNoise mean_noise(const std::vector<Kept>& kept, double size) {
  double variance = 0, cells = 0, counted = 0;
  for (const Kept& pair : kept) {
    if (pair.known != nullptr) continue;
    variance += pair.sigma * pair.sigma / (size * size);
    cells += static_cast<double>(pair.law->size());
    ++counted;
  }
  if (counted == 0) return {};
  return {cells / counted, std::sqrt(variance / counted)};
}

/// The parameters of a law, fitted by steps with momentum. Every step moves them by shares of the logarithm
/// of what is wanted over what is shown: the columns' own by their own laws, the pairs' by what remains of
/// theirs.
class Parameters {
 public:
  Parameters(PairGraphLaw& law, const std::vector<Kept>& kept) : law_(law), kept_(kept) {
    for_each([&](std::vector<float>& numbers) { moved_.emplace_back(numbers.size(), 0.0f); });
    mean_.assign(moved_.begin(), moved_.end());
  }

  /// @param trace  what every cell has besides, so that no logarithm is of nothing
  void step(const std::vector<Eigen::MatrixXd>& shown, double trace) {
    std::vector<std::vector<float>> by;
    const std::size_t d = law_.field.size();
    for (const std::vector<float>& field : law_.field) by.emplace_back(field.size(), 0.0f);
    std::vector<bool> seen(d, false);
    for (std::size_t p = 0; p < kept_.size(); ++p) {
      const Eigen::MatrixXd& wanted = *kept_[p].law;
      Eigen::MatrixXd ratio = log_ratio(wanted, shown[p], trace);
      const Eigen::VectorXd a = wanted.rowwise().sum(), b = wanted.colwise().sum();
      ratio.colwise() -= (ratio * b).eval();
      ratio.rowwise() -= (a.transpose() * ratio).eval();
      std::vector<float>& own = by.emplace_back();
      for (Index x = 0; x < wanted.rows(); ++x) {
        for (Index y = 0; y < wanted.cols(); ++y) own.push_back(static_cast<float>(kPairRate * ratio(x, y)));
      }
      const auto column = [&](std::size_t j, const Eigen::VectorXd& law, const Eigen::VectorXd& now) {
        if (seen[j]) return;
        seen[j] = true;
        const Eigen::VectorXd field = kFieldRate * log_ratio(law, now, trace);
        std::copy(field.begin(), field.end(), by[j].begin());
      };
      column(kept_[p].first, a, shown[p].rowwise().sum());
      column(kept_[p].second, b, shown[p].colwise().sum());
    }
    std::size_t block = 0;
    for_each([&](std::vector<float>& numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] += moved_[block][i] = kMomentum * moved_[block][i] + by[block][i];
      ++block;
    });
  }
  /// The parameters become the mean of those at the calls of remember(): most of the chains' noise goes.
  void remember() {
    std::size_t block = 0;
    for_each([&](std::vector<float>& numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) mean_[block][i] += numbers[i];
      ++block;
    });
    ++remembered_;
  }
  void settle() {
    std::size_t block = 0;
    for_each([&](std::vector<float>& numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = mean_[block][i] / static_cast<float>(remembered_);
      ++block;
    });
  }

 private:
  static Eigen::MatrixXd log_ratio(const Eigen::MatrixXd& wanted, const Eigen::MatrixXd& shown,
                                   double trace) {
    return ((wanted.array() + trace) / (shown.array() + trace))
        .log()
        .cwiseMin(kMostStep)
        .cwiseMax(-kMostStep);
  }
  /// Fields, then interactions.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::vector<float>& field : law_.field) visit(field);
    for (PairGraphLaw::Pair& pair : law_.pairs) visit(pair.interaction);
  }

  PairGraphLaw& law_;
  const std::vector<Kept>& kept_;
  std::vector<std::vector<float>> moved_, mean_;
  std::size_t remembered_ = 0;
};

void start_at_tree(PairGraphLaw& law, const std::vector<Eigen::VectorXd>& column,
                   const std::vector<Kept>& kept) {
  for (const Eigen::VectorXd& counts : column) {
    const double total = counts.sum();
    std::vector<float>& field = law.field.emplace_back();
    for (Index x = 0; x < counts.size(); ++x)
      field.push_back(static_cast<float>(std::log(std::max(counts(x) / total, 1e-9))));
  }
  for (const Kept& pair : kept) {
    const Eigen::MatrixXd& table = *pair.law;
    const bool in_tree = std::any_of(law.tree.begin(), law.tree.end(), [&](const auto& branch) {
      return (branch.column == pair.first && branch.parent == pair.second) ||
             (branch.column == pair.second && branch.parent == pair.first);
    });
    auto& made = law.pairs.emplace_back(PairGraphLaw::Pair{pair.first, pair.second, {}});
    const Eigen::VectorXd a = table.rowwise().sum(), b = table.colwise().sum();
    for (Index x = 0; x < table.rows(); ++x) {
      for (Index y = 0; y < table.cols(); ++y) {
        const double ratio = in_tree && table(x, y) > 0 ? table(x, y) / (a(x) * b(y)) : 1.0;
        const bool unseen = pair.known && !(table(x, y) > 0);
        made.interaction.push_back(static_cast<float>(unseen ? kHardlyEver : std::log(ratio)));
        if (pair.known && !pair.known->allowed[static_cast<std::size_t>(x * table.cols() + y)])
          made.interaction.back() = kNever;
      }
    }
  }
}

/// What the first round's laws say of the codes within each group. In a tail that is noise alone records
/// move, but to no other group: pairs counted those.
std::vector<PairGraphCells> cells_of(const Margins& fine, const CoarseMargins& coarse) {
  std::vector<PairGraphCells> out;
  for (std::size_t j = 0; j < coarse.groups.size(); ++j) {
    const Groups& groups = coarse.groups[j];
    if (groups.empty()) continue;
    std::vector<double> members(group_count(groups), 0.0);
    for (const std::uint32_t g : groups) ++members[g];
    PairGraphCells& cells = out.emplace_back(PairGraphCells{j, groups, {}});
    for (std::size_t c = 0; c < fine.classes(); ++c) {
      std::vector<float>& share = cells.share.emplace_back();
      const Eigen::VectorXd law = laid_out(fine.tails[j], groups, fine.column[c][j]);
      for (std::size_t x = 0; x < groups.size(); ++x) {
        const double all = coarse.margins.column[c][j](static_cast<Index>(groups[x]));
        const double own = law(static_cast<Index>(x));
        share.push_back(static_cast<float>(all > 0 ? own / all : 1 / members[groups[x]]));
      }
    }
  }
  return out;
}

}  // namespace

const PairGraphCells* PairGraphModel::cells_of(std::size_t j) const {
  const auto at = std::find_if(cells.begin(), cells.end(), [&](const auto& own) { return own.column == j; });
  return at == cells.end() ? nullptr : &*at;
}

PairGraphModel fit_pair_graph(const release::NoisyTables& tables, std::size_t sweeps,
                              const Heartbeat& heartbeat) {
  const Margins fine = combine_tables(tables, heartbeat);
  CoarseMargins coarse = on_counted_groups(fine, tables.grid_cells);
  Margins& margins = coarse.margins;
  std::erase_if(margins.pairs, [&](const PairCounts& pair) {
    return std::ranges::any_of(margins.known, [&](const KnownPair& known) {
      return known.first == pair.first && known.second == pair.second;
    });
  });
  const std::vector<PairLaw> laws = shrink_interactions(margins, heartbeat);
  PairGraphModel model{margins.codes, sweeps, {}};
  model.cells = cells_of(fine, coarse);
  for (std::size_t c = 0; c < margins.classes(); ++c) {
    std::vector<Kept> kept;
    for (std::size_t p = 0; p < laws.size(); ++p) {
      if (laws[p][c].size() > 0)
        kept.push_back(
            {margins.pairs[p].first, margins.pairs[p].second, &laws[p][c], margins.pairs[p].sigma});
    }
    std::vector<Eigen::MatrixXd> known;
    for (const KnownPair& pair : margins.known)
      known.push_back(pair.table(c, margins.codes) / margins.size[c]);
    for (std::size_t k = 0; k < known.size(); ++k)
      kept.push_back({margins.known[k].first, margins.known[k].second, &known[k], 0, &margins.known[k]});
    std::ranges::sort(kept, {}, [](const Kept& pair) { return std::pair(pair.first, pair.second); });
    PairGraphLaw& law = model.laws.emplace_back();
    const std::vector<Eigen::VectorXd>& column = margins.column[c];
    law.tree = spanning_tree(column, kept);
    start_at_tree(law, column, kept);
    for (const release::Combination& which : tables.combinations) {
      if (which.second != release::Combination::kLabel) continue;
      for (std::size_t x = 0; x < which.codes[0]; ++x) {
        if (!which.holds(x, c)) law.field[which.first][x] = kNever;
      }
    }
    if (kept.empty() || sweeps == 0) continue;
    Chains chains(model.codes, law, std::min(sweeps, kMostFittedSweeps), static_cast<std::uint32_t>(c));
    Parameters parameters(law, kept);
    const std::size_t most = chains_for(mean_noise(kept, margins.size[c]), kFitSteps / 2);
    for (std::size_t step = 1; step <= kFitSteps; ++step) {
      beat(heartbeat);
      const bool averaged = 2 * step > kFitSteps;
      const std::size_t chain_count = averaged ? most : std::max(most / kFewerAtFirst, kLeastChains);
      parameters.step(chains.show(law, chain_count), 1.0 / static_cast<double>(chain_count));
      if (averaged) parameters.remember();
    }
    parameters.settle();
  }
  return model;
}

}  // namespace muffle::pair_graph
