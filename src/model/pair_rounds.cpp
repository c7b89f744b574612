#include "muffle/model/pair_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "code_groups.hpp"
#include "muffle/core/error.hpp"
#include "pair_graph_interactions.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::model {
namespace {

using Eigen::Index;

/// Cells of two merged columns hold so many records for one of noise, were the columns independent.
constexpr double kLeast = 0.05;

/// A pair of columns that the workload counts, by itself or within three.
struct Candidate {
  std::size_t first, second;
  double weight;
};

std::vector<Candidate> candidates(const features::CountTables& workload) {
  std::map<std::pair<std::size_t, std::size_t>, double> weight;
  for (const features::CountTable& table : workload.tables) {
    if (!(table.weight > 0)) continue;
    for (std::size_t a = 0; a < table.columns.size(); ++a) {
      for (std::size_t b = a + 1; b < table.columns.size(); ++b) {
        double& of = weight[{table.columns[a], table.columns[b]}];
        of = std::max(of, table.weight);
      }
    }
  }
  std::vector<Candidate> out;
  for (const auto& [pair, w] : weight) out.push_back({pair.first, pair.second, w});
  return out;
}

/// Fills in where the tables' cells are.
std::vector<features::CountTable> laid_out(std::vector<features::CountTable> tables,
                                           const std::vector<std::size_t>& codes) {
  std::size_t next = 0;
  for (features::CountTable& table : tables) {
    table.first = next;
    table.cells = 1;
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      const bool grouped = k < table.groups.size() && !table.groups[k].empty();
      table.cells *= grouped ? group_count(table.groups[k]) : codes[table.columns[k]];
    }
    next += table.cells;
  }
  return tables;
}

/// Every column of the workload by itself.
std::vector<features::CountTable> single_columns(const features::CountTables& workload) {
  std::map<std::size_t, double> weight;
  for (const features::CountTable& table : workload.tables) {
    if (!(table.weight > 0)) continue;
    for (const std::size_t j : table.columns) weight.try_emplace(j, 1.0);
  }
  std::vector<features::CountTable> out;
  for (const auto& [j, w] : weight) out.push_back({{j}, {}, w});
  return out;
}

/// A column's counts, of all classes.
Eigen::VectorXd counts_of(const Margins& margins, std::size_t j) {
  Eigen::VectorXd sum = margins.column.front()[j];
  for (std::size_t c = 1; c < margins.classes(); ++c) sum += margins.column[c][j];
  return sum;
}

/// A pair's table on these groups. Groups of one code each are left out.
features::CountTable table_of(const Candidate& pair, const Groups& first, const Groups& second) {
  const auto named = [](const Groups& groups) {
    return group_count(groups) == groups.size() ? Groups{} : groups;
  };
  return {{pair.first, pair.second}, {named(first), named(second)}, pair.weight};
}

/// How codes may be merged: within the groups of the earlier tables, so that all of them nest.
std::vector<Groups> bounds_of(const release::NoisyTables& so_far) {
  std::vector<Groups> out;
  for (const std::size_t k : so_far.codes) out.emplace_back(k, 0u);
  for (const release::NoisyTable& table : so_far.tables) {
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      if (k >= table.groups.size() || table.groups[k].empty()) continue;
      Groups& bound = out[table.columns[k]];
      // The common refinement.
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
      for (std::size_t x = 0; x < bound.size(); ++x)
        bound[x] =
            number.try_emplace({bound[x], table.groups[k][x]}, static_cast<std::uint32_t>(number.size()))
                .first->second;
    }
  }
  return out;
}

double least_records(double sigma, double records, double share) {
  return std::sqrt(share * sigma * std::max(1.0, records));
}

std::vector<Groups> merged_columns(const Margins& margins, double least, const std::vector<Groups>& bounds) {
  std::vector<Groups> out;
  for (std::size_t j = 0; j < margins.codes.size(); ++j)
    out.push_back(merged_codes(counts_of(margins, j), least, bounds[j]));
  return out;
}

double weight_of(const std::vector<Candidate>& pairs) {
  double squares = 0;
  for (const Candidate& pair : pairs) squares += pair.weight * pair.weight;
  return std::sqrt(squares);
}

/// All pairs, on groups.
std::vector<features::CountTable> all_pairs(const features::CountTables& workload, const Margins& margins,
                                            const std::vector<Groups>& bounds, double records,
                                            double sigma_round) {
  const std::vector<Candidate> pairs = candidates(workload);
  const double sigma = sigma_round * weight_of(pairs);  // of weight 1
  const std::vector<Groups> groups = merged_columns(margins, least_records(sigma, records, kLeast), bounds);
  std::vector<features::CountTable> out;
  for (const Candidate& pair : pairs) {
    if (std::min(group_count(groups[pair.first]), group_count(groups[pair.second])) > 1)
      out.push_back(table_of(pair, groups[pair.first], groups[pair.second]));
  }
  return out;
}

/// Interactions known on groups, spread over codes by the columns' counts.
std::vector<std::vector<Eigen::MatrixXd>> open_variances(const Margins& margins) {
  std::vector<std::vector<Eigen::MatrixXd>> out;
  const auto interactions = noisy_interactions(margins);
  for (std::size_t c = 0; c < margins.classes(); ++c) {
    const std::vector<Interaction> known = posterior_means(interactions[c], {});
    auto& open = out.emplace_back();
    for (std::size_t p = 0; p < known.size(); ++p) {
      const PairCounts& pair = margins.pairs[p];
      const Eigen::VectorXd &a = margins.column[c][pair.first], &b = margins.column[c][pair.second];
      const NoisyInteraction& on = interactions[c][p];
      Eigen::MatrixXd variance(a.size(), b.size());
      for (Index x = 0; x < a.size(); ++x) {
        for (Index y = 0; y < b.size(); ++y) {
          const auto g = static_cast<Index>(pair.first_group[static_cast<std::size_t>(x)]),
                     h = static_cast<Index>(pair.second_group[static_cast<std::size_t>(y)]);
          const double whole = on.rows(g) * on.columns(h);
          const double share = whole > 0 ? a(x) * b(y) / whole : 1.0;
          variance(x, y) = share * share * known[p].left(g, h) + share * (1 - share) * known[p].prior(g, h);
        }
      }
      open.push_back(std::move(variance));
    }
  }
  return out;
}

/// By how much the expected absolute errors of a pair's codes fall, if its groups are counted with this
/// noise.
double gain_of(const Eigen::MatrixXd& open, const Groups& first, const Groups& second, double sigma) {
  Eigen::MatrixXd sum =
      Eigen::MatrixXd::Zero(static_cast<Index>(group_count(first)), static_cast<Index>(group_count(second)));
  for (Index x = 0; x < open.rows(); ++x) {
    for (Index y = 0; y < open.cols(); ++y)
      sum(first[static_cast<std::size_t>(x)], second[static_cast<std::size_t>(y)]) += open(x, y);
  }
  double gain = 0;
  for (Index x = 0; x < open.rows(); ++x) {
    for (Index y = 0; y < open.cols(); ++y) {
      const double v = open(x, y);
      const double left =
          v * (1 - v / (sum(first[static_cast<std::size_t>(x)], second[static_cast<std::size_t>(y)]) +
                        sigma * sigma));
      gain += std::sqrt(v) - std::sqrt(std::max(0.0, left));
    }
  }
  return gain;
}

std::vector<features::CountTable> chosen_pairs(const features::CountTables& workload,
                                               const release::NoisyTables& so_far, const Margins& margins,
                                               const std::vector<Groups>& bounds, double sigma_round) {
  const std::vector<std::vector<Eigen::MatrixXd>> open = open_variances(margins);
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> place;
  for (std::size_t p = 0; p < margins.pairs.size(); ++p)
    place[{margins.pairs[p].first, margins.pairs[p].second}] = p;
  std::vector<Candidate> pairs;
  for (const Candidate& pair : candidates(workload)) {
    if (place.count({pair.first, pair.second}) > 0) pairs.push_back(pair);
  }
  double best = -1;
  std::vector<features::CountTable> out;
  for (std::size_t count = 1; count <= pairs.size(); count = std::max(count + 1, count * 9 / 8)) {
    const double sigma = sigma_round * std::sqrt(static_cast<double>(count));
    const std::vector<Groups> groups =
        merged_columns(margins, least_records(sigma, so_far.records, kLeast), bounds);
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      double gain = 0;
      for (const auto& of_class : open)
        gain += gain_of(of_class[place[{pairs[k].first, pairs[k].second}]], groups[pairs[k].first],
                        groups[pairs[k].second], sigma);
      order.push_back({-gain, k});
    }
    std::sort(order.begin(), order.end());
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum -= order[k].first;
    if (!(sum > best)) continue;
    best = sum;
    out.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const Candidate& pair = pairs[order[k].second];
      out.push_back(table_of(pair, groups[pair.first], groups[pair.second]));
    }
  }
  return out;
}

}  // namespace

std::vector<double> round_shares(const features::CountTables& workload, std::size_t classes, double records,
                                 double sigma, std::size_t rounds) {
  (void)workload, (void)classes, (void)records, (void)sigma;
  if (rounds == 0) rounds = 3;
  if (rounds == 1) return {1.0};
  if (rounds == 2) return {0.3, 0.7};
  return {0.18, 0.3, 0.52};
}

std::vector<features::CountTable> tables_of_round(const features::CountTables& workload,
                                                  const release::NoisyTables& so_far, std::size_t classes,
                                                  std::size_t round, std::span<const double> shares,
                                                  double sigma_round) {
  (void)classes;
  std::vector<features::CountTable> out;
  if (shares.size() == 3 && round == 0) {
    out = single_columns(workload);
  } else if (round > 0) {
    const Margins margins = combine_tables(so_far);
    const std::vector<Groups> bounds = bounds_of(so_far);
    if (round + 1 < shares.size())
      out = all_pairs(workload, margins, bounds, so_far.records, sigma_round);
    else
      out = chosen_pairs(workload, so_far, margins, bounds, sigma_round);
  }
  if (out.empty()) out = workload.tables;
  return laid_out(std::move(out), workload.codes);
}

}  // namespace muffle::model
