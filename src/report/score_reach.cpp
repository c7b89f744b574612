#include "score_reach.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "muffle/core/philox.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kGroups = 10, kMostRowsDrawn = 10'000, kFewestRowsDrawn = 100;
/// Student's t with kGroups - 1 degrees of freedom, at 0.975.
constexpr double kStudent = 2.262157162798205;

std::vector<std::vector<double>> ranks_of_numbers(const Rows& rows, std::size_t columns) {
  std::vector<std::vector<double>> out(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    if (rows.columns[j].is_number) out[j] = ranks_of(rows.values[j]);
  }
  return out;
}

/// What other rows are compared with.
struct Real {
  const Rows& rows;
  std::span<const Bins> bins;
  std::vector<std::vector<double>> joint;  ///< of every pair, in order
  std::vector<double> ranks;               ///< of every pair of numbers
};

template <class Look>
void for_pairs(std::size_t columns, Look&& look) {
  for (std::size_t a = 0; a < columns; ++a) {
    for (std::size_t b = a + 1; b < columns; ++b) look(a, b);
  }
}

std::vector<double> rank_correlations(const Rows& rows, std::size_t columns) {
  std::vector<double> out;
  const auto ranks = ranks_of_numbers(rows, columns);
  for_pairs(columns, [&](std::size_t a, std::size_t b) {
    if (rows.columns[a].is_number && rows.columns[b].is_number)
      out.push_back(rank_correlation(ranks[a], ranks[b]));
  });
  return out;
}

ScoreReach scores_of(const Real& real, const Rows& rows) {
  ScoreReach out;
  for (const Shape& shape : shapes_of(real.rows, rows)) out.shapes += 1 - shape.distance;
  out.shapes /= static_cast<double>(std::max<std::size_t>(1, rows.columns.size()));
  const PairCodes codes = pair_codes(rows, real.bins);
  std::size_t pair = 0;
  for_pairs(real.bins.size(), [&](std::size_t a, std::size_t b) {
    out.pairs += 1 - total_variation(real.joint[pair++], joint_shares(codes, a, b));
  });
  out.pairs /= static_cast<double>(std::max<std::size_t>(1, pair));
  const std::vector<double> ranks = rank_correlations(rows, real.bins.size());
  for (std::size_t k = 0; k < ranks.size(); ++k) out.ranks += 1 - std::fabs(real.ranks[k] - ranks[k]) / 2;
  out.ranks /= static_cast<double>(std::max<std::size_t>(1, ranks.size()));
  return out;
}

}  // namespace

std::optional<ScoreReach> reach_by_rows(const Rows& real, const Rows& rows, std::span<const Bins> bins,
                                        const Heartbeat& heartbeat) {
  if (std::min(real.size(), rows.size()) < kFewestRowsDrawn) return std::nullopt;
  const Rows truth = rows_at(real, some_rows(real.size(), kMostRowsDrawn));
  Real beside{truth, bins, {}, rank_correlations(truth, bins.size())};
  const PairCodes codes = pair_codes(truth, bins);
  for_pairs(bins.size(),
            [&](std::size_t a, std::size_t b) { beside.joint.push_back(joint_shares(codes, a, b)); });
  // Groups by chance, so that a sorted file's are alike.
  const std::vector<std::int64_t> order =
      shuffled_indices(CounterStream(0, Stream::kEvaluation, 3), rows.size());
  const std::size_t n = std::min(order.size(), kMostRowsDrawn);
  std::vector<ScoreReach> without;
  for (std::size_t group = 0; group < kGroups; ++group) {
    beat(heartbeat);
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % kGroups != group) at.push_back(static_cast<std::size_t>(order[i]));
    }
    without.push_back(scores_of(beside, rows_at(rows, at)));
  }
  const auto half = [&](double ScoreReach::*score) {
    constexpr auto g = static_cast<double>(kGroups);
    double mean = 0, squares = 0;
    for (const ScoreReach& s : without) mean += s.*score / g;
    for (const ScoreReach& s : without) squares += (s.*score - mean) * (s.*score - mean);
    const double to_scale = static_cast<double>(n) / static_cast<double>(rows.size());
    return kStudent * std::sqrt(squares * (g - 1) / g * to_scale);
  };
  return ScoreReach{half(&ScoreReach::shapes), half(&ScoreReach::pairs), half(&ScoreReach::ranks)};
}

}  // namespace muffle::report
