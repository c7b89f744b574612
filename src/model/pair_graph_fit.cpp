#include <algorithm>
#include <cmath>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/model/pair_graph.hpp"
#include "pair_graph_gibbs.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::model {
namespace {

using Eigen::Index;

constexpr std::size_t kChains = 6000, kSteps = 50;
/// Share of a step's log ratio that is taken: a record lies in many pairs, which all correct it.
constexpr double kRate = 0.1;
/// A parameter's largest step.
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

/// A pair that the law of a class keeps.
struct Kept {
  std::size_t first, second;
  const Eigen::MatrixXd* law;
};

/// Prim's maximum spanning tree by mutual information; pairs that are not kept weigh nothing.
std::vector<PairGraphLaw::Branch> spanning_tree(const std::vector<Eigen::VectorXd>& column,
                                                const std::vector<Kept>& kept) {
  const std::size_t d = column.size();
  std::vector<double> weight(d * d, 0.0);
  std::vector<const Eigen::MatrixXd*> law(d * d, nullptr);
  for (const Kept& pair : kept) {
    weight[pair.first * d + pair.second] = weight[pair.second * d + pair.first] =
        mutual_information(*pair.law);
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

/// Chains of one class and what they say about its pairs.
class Chains {
 public:
  Chains(const std::vector<std::size_t>& codes, const PairGraphLaw& law, std::size_t count,
         std::uint32_t substream)
      : codes_(codes),
        law_(codes, law),
        records_(count * codes.size()),
        uniforms_(codes.size()),
        weights_(law_.make_weights()),
        random_(0, Stream::kTrainLatent, substream) {
    for (std::size_t i = 0; i < count; ++i) {
      draw_uniforms();
      law_.draw_tree(uniforms_.data(), &records_[i * codes.size()]);
    }
    partner_.resize(codes.size());
    for (std::size_t p = 0; p < law.pairs.size(); ++p) {
      const auto& pair = law.pairs[p];
      partner_[pair.first].push_back({p, pair.second, true});
      partner_[pair.second].push_back({p, pair.first, false});
    }
  }

  /// One sweep of all chains under `law`. @returns each pair's probabilities by the conditional laws met on
  /// the way (Rao and Blackwell), first's codes x second's codes.
  std::vector<Eigen::MatrixXd> sweep(const PairGraphLaw& law) {
    law_.set_parameters(law);
    // By the column that moved: its codes are the rows of the first table, the columns of the second.
    std::vector<Eigen::MatrixXf> by_first, by_second;
    for (const auto& pair : law.pairs) {
      const auto rows = static_cast<Index>(codes_[pair.first]),
                 columns = static_cast<Index>(codes_[pair.second]);
      by_first.push_back(Eigen::MatrixXf::Zero(rows, columns));
      by_second.push_back(Eigen::MatrixXf::Zero(columns, rows));
    }
    const std::size_t d = codes_.size(), count = records_.size() / d;
    for (std::size_t i = 0; i < count; ++i) {
      draw_uniforms();
      std::uint32_t* const record = &records_[i * d];
      law_.sweep(uniforms_.data(), record, weights_, [&](std::size_t j, const float* w, float sum) {
        const Eigen::Map<const Eigen::ArrayXf> weights(w, static_cast<Index>(codes_[j]));
        for (const Partner& partner : partner_[j])
          (partner.is_first ? by_first : by_second)[partner.pair]
              .col(static_cast<Index>(record[partner.column]))
              .array() += weights * (1 / sum);
      });
    }
    std::vector<Eigen::MatrixXd> out;
    for (std::size_t p = 0; p < by_first.size(); ++p)
      out.push_back((by_first[p].cast<double>() + by_second[p].transpose().cast<double>()) /
                    (2.0 * static_cast<double>(count)));
    return out;
  }

 private:
  struct Partner {
    std::size_t pair, column;
    bool is_first;
  };

  void draw_uniforms() {
    for (double& u : uniforms_) u = random_.uniform(next_++);
  }

  const std::vector<std::size_t>& codes_;
  GibbsLaw law_;
  std::vector<std::uint32_t> records_;  ///< chains x d
  std::vector<double> uniforms_;
  GibbsLaw::Weights weights_;
  CounterStream random_;
  std::uint64_t next_ = 0;
  std::vector<std::vector<Partner>> partner_;  ///< d: the pairs of a column
};

/// log(wanted / shown), both with a trace of a chain added, at most kMostStep.
Eigen::MatrixXd log_ratio(const Eigen::MatrixXd& wanted, const Eigen::MatrixXd& shown, double trace) {
  return ((wanted.array() + trace) / (shown.array() + trace)).log().cwiseMin(kMostStep).cwiseMax(-kMostStep);
}

/// Moves the parameters towards the wanted laws by the ratio of what is wanted to what the chains show: the
/// columns' own by their own laws, the pairs' by what remains of theirs.
void correct(PairGraphLaw& law, const std::vector<Kept>& kept, const std::vector<Eigen::MatrixXd>& shown,
             double rate, double trace) {
  std::vector<bool> moved(law.field.size(), false);
  for (std::size_t p = 0; p < kept.size(); ++p) {
    const Eigen::MatrixXd& wanted = *kept[p].law;
    Eigen::MatrixXd step = log_ratio(wanted, shown[p], trace);
    const Eigen::VectorXd a = wanted.rowwise().sum(), b = wanted.colwise().sum();
    step.colwise() -= (step * b).eval();
    step.rowwise() -= (a.transpose() * step).eval();
    for (Index x = 0; x < wanted.rows(); ++x) {
      for (Index y = 0; y < wanted.cols(); ++y)
        law.pairs[p].interaction[static_cast<std::size_t>(x * wanted.cols() + y)] +=
            static_cast<float>(rate * step(x, y));
    }
    for (const std::size_t j : {kept[p].first, kept[p].second}) {
      if (moved[j]) continue;
      moved[j] = true;
      const bool rows = j == kept[p].first;
      const Eigen::VectorXd now =
          rows ? Eigen::VectorXd(shown[p].rowwise().sum()) : Eigen::VectorXd(shown[p].colwise().sum());
      const Eigen::VectorXd own = log_ratio(rows ? a : b, now, trace);
      for (Index x = 0; x < own.size(); ++x)
        law.field[j][static_cast<std::size_t>(x)] += static_cast<float>(rate * own(x));
    }
  }
}

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
        made.interaction.push_back(static_cast<float>(std::log(ratio)));
      }
    }
  }
}

}  // namespace

PairGraphModel fit_pair_graph(const release::NoisyTables& tables, std::size_t sweeps,
                              const Heartbeat& heartbeat) {
  const Margins margins = combine_tables(tables);
  const std::vector<PairLaw> laws = shrink_interactions(margins, heartbeat);
  PairGraphModel model{margins.codes, sweeps, {}};
  for (std::size_t c = 0; c < margins.classes(); ++c) {
    std::vector<Kept> kept;
    for (std::size_t p = 0; p < laws.size(); ++p) {
      if (!laws[p].empty()) kept.push_back({margins.pairs[p].first, margins.pairs[p].second, &laws[p][c]});
    }
    PairGraphLaw& law = model.laws.emplace_back();
    const std::vector<Eigen::VectorXd>& column = margins.column[c];
    law.tree = spanning_tree(column, kept);
    start_at_tree(law, column, kept);
    if (kept.empty() || sweeps == 0) continue;
    Chains chains(model.codes, law, kChains, static_cast<std::uint32_t>(c));
    for (std::size_t step = 0; step < kSteps; ++step) {
      beat(heartbeat);
      const std::vector<Eigen::MatrixXd> shown = chains.sweep(law);
      correct(law, kept, shown, kRate, 1.0 / static_cast<double>(kChains));
    }
  }
  return model;
}

}  // namespace muffle::model
