#include <algorithm>
#include <cmath>

#include "results.hpp"
#include "score_reach.hpp"

namespace muffle::report {
namespace {

double mean_shape(const std::vector<Shape>& shapes) {
  double sum = 0;
  for (const Shape& shape : shapes) sum += 1 - shape.distance;
  return shapes.empty() ? 0.0 : sum / static_cast<double>(shapes.size());
}

}  // namespace

TableScores score_table(const Rows& real, const std::optional<Rows>& held_out, const Rows& samples,
                        const Heartbeat& heartbeat) {
  TableScores out;
  out.shapes = mean_shape(shapes_of(real, samples));
  out.even_shapes = 1 - mean_distance_from_even(real);
  if (held_out) out.held_out_shapes = mean_shape(shapes_of(real, *held_out));
  std::vector<Bins> bins;
  for (std::size_t j = 0; j < std::min(samples.columns.size(), kMostPairColumns); ++j)
    bins.push_back(Bins::to_pair(samples.columns[j], real.values[j]));
  const PairCodes of_real = pair_codes(real, bins), of_samples = pair_codes(samples, bins);
  const std::optional<PairCodes> of_held_out =
      held_out ? std::optional(pair_codes(*held_out, bins)) : std::nullopt;
  const auto ranks = [&](const Rows& rows) {
    std::vector<std::vector<double>> of_each(bins.size());
    for (std::size_t j = 0; j < bins.size(); ++j) {
      if (rows.columns[j].is_number) of_each[j] = ranks_of(rows.values[j]);
    }
    return of_each;
  };
  const auto real_ranks = ranks(real), made_ranks = ranks(samples),
             held_ranks = held_out ? ranks(*held_out) : std::vector<std::vector<double>>();
  double held_out_sum = 0, rank_sum = 0, held_rank_sum = 0, no_rank_sum = 0, of_numbers = 0;
  for (std::size_t a = 0; a < bins.size(); ++a) {
    beat(heartbeat);
    for (std::size_t b = a + 1; b < bins.size(); ++b) {
      const std::size_t p = bins[a].count(), q = bins[b].count();
      const auto truth = joint_shares(of_real, a, b), made = joint_shares(of_samples, a, b);
      TableScores::Pair pair{a, b, total_variation(truth, made),
                             cramers_v(truth, p, q, static_cast<double>(of_real.of[a].size())),
                             cramers_v(made, p, q, static_cast<double>(of_samples.of[a].size()))};
      out.pairs += 1 - pair.apart;
      out.independent_pairs += 1 - total_variation(truth, as_independent(made, p, q));
      if (samples.columns[a].is_number && samples.columns[b].is_number) {
        const auto score = [&](double correlation) {
          return 1 - std::fabs(*pair.rank_real - correlation) / 2;
        };
        pair.rank_real = rank_correlation(real_ranks[a], real_ranks[b]);
        pair.rank_made = rank_correlation(made_ranks[a], made_ranks[b]);
        rank_sum += score(*pair.rank_made);
        no_rank_sum += score(0.0);
        if (held_out) held_rank_sum += score(rank_correlation(held_ranks[a], held_ranks[b]));
        ++of_numbers;
      }
      if (of_held_out) held_out_sum += 1 - total_variation(truth, joint_shares(*of_held_out, a, b));
      out.all.push_back(pair);
    }
  }
  const auto pairs = static_cast<double>(std::max<std::size_t>(1, out.all.size()));
  out.pairs /= pairs;
  out.independent_pairs /= pairs;
  if (of_held_out) out.held_out_pairs = held_out_sum / pairs;
  if (of_numbers > 0) out.ranks = rank_sum / of_numbers;
  if (of_numbers > 0) out.independent_ranks = no_rank_sum / of_numbers;
  if (of_numbers > 0 && held_out) out.held_out_ranks = held_rank_sum / of_numbers;
  out.reach = reach_by_rows(real, samples, bins, heartbeat);
  if (held_out) out.held_out_reach = reach_by_rows(real, *held_out, bins, heartbeat);
  std::stable_sort(out.all.begin(), out.all.end(),
                   [](const auto& x, const auto& y) { return x.apart > y.apart; });
  return out;
}

}  // namespace muffle::report
