#include "muffle/pair_graph/pair_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/features/pairs.hpp"
#include "pair_graph_interactions.hpp"
#include "pair_graph_margins.hpp"
#include "round_tables.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

/// Cells of two merged columns hold so many records for one of noise, were the columns independent.
constexpr double kLeast = 0.05;
/// Of a round's tables, in all classes.
constexpr std::size_t kMostCells = std::size_t{1} << 22;

/// A column's counts, of all classes.
std::vector<Steps> counts_of(const Margins& margins, std::size_t j, double scale) {
  Eigen::VectorXd sum = margins.column.front()[j];
  for (std::size_t c = 1; c < margins.classes(); ++c) sum += margins.column[c][j];
  std::vector<Steps> out;
  for (const double count : sum) out.push_back(in_steps(std::max(0.0, count), scale));
  return out;
}

double margins_records(const Margins& margins) {
  return std::accumulate(margins.size.begin(), margins.size.end(), 0.0);
}

double least_records(double sigma, double records) { return std::sqrt(kLeast * sigma * records); }

/// What a round chooses from.
struct Known {
  const features::CountTables& workload;
  const Margins& margins;
  const std::vector<Groups>& bounds;
  double records;
  double sigma_round;
};

/// Each column's groups, and of which columns another build may have others.
struct Merged {
  std::vector<Groups> groups;
  std::vector<bool> in_doubt;
};

/// Every column's codes, merged until the groups hold `least` records (learned ones more, by kLeastLearned),
/// and on until the tables of all pairs are small enough together.
Merged merged_columns(const Known& known, double least, const std::vector<Candidate>& pairs) {
  const Margins& margins = known.margins;
  std::vector<std::vector<Steps>> counts;
  for (std::size_t j = 0; j < margins.codes.size(); ++j)
    counts.push_back(counts_of(margins, j, known.records));
  const Steps all = in_steps(margins_records(margins), known.records);
  bool all_in_doubt = false;  // how far the columns are merged
  for (double needed = least;; needed = 2 * needed + 1) {
    const Steps enough = in_steps(needed, known.records),
                enough_learned = in_steps(std::sqrt(kLeastLearned / kLeast) * needed, known.records);
    Merged out;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      Comparisons compare;
      out.groups.push_back(merged_codes(counts[j],
                                        has_learned_bins(known.workload, j) ? enough_learned : enough,
                                        known.bounds[j], compare));
      out.in_doubt.push_back(!compare.steady());
    }
    std::size_t cells = 0;
    for (const Candidate& pair : pairs)
      cells += group_count(out.groups[pair.first]) * group_count(out.groups[pair.second]);
    cells *= margins.classes();
    // A column's other groups may be fewer or more, by a few: elsewhere the tables may be small enough.
    const bool any = std::find(out.in_doubt.begin(), out.in_doubt.end(), true) != out.in_doubt.end();
    all_in_doubt = all_in_doubt || (any && 8 * cells > kMostCells);
    Comparisons end;
    // With groups of all records, no bound lets them be coarser.
    const bool last = cells <= kMostCells || !end.less(enough, all);
    if (all_in_doubt || !end.steady()) {
      all_in_doubt = true;
      out.in_doubt.assign(counts.size(), true);
    }
    if (last) return out;
  }
}

double weight_of(const std::vector<Candidate>& pairs) {
  double squares = 0;
  for (const Candidate& pair : pairs) squares += pair.weight * pair.weight;
  return std::sqrt(squares);
}

/// All pairs, on groups.
Choice all_pairs(const Known& known) {
  const std::vector<Candidate> pairs = candidates(known.workload);
  const double sigma = known.sigma_round * weight_of(pairs);  // of weight 1
  Merged merged = merged_columns(known, least_records(sigma, known.records), pairs);
  std::vector<features::CountTable> tables = tables_on(pairs, merged.groups, true);
  return {std::move(tables), std::move(merged.groups), std::move(merged.in_doubt)};
}

/// By how much the part of an interaction's energy that is told from noise grows, if it is counted again with
/// `sigma`: a Wiener filter keeps E^2 / (E + N) of an energy E under the energy N of noise.
double gain_of(const NoisyInteraction& known, double sigma) {
  const auto free = static_cast<double>((known.measured.rows() - 1) * (known.measured.cols() - 1));
  const double now = free * known.sigma * known.sigma, next = free * sigma * sigma;
  const double energy = known.measured.squaredNorm() - now;
  if (!(energy > 0)) return 0;
  const double both = now + next > 0 ? now * next / (now + next) : 0.0;
  return energy * energy * (1 / (energy + both) - 1 / (energy + now));
}

/// A pair that may be chosen, and where it is among the margins' pairs.
struct Choosable {
  Candidate pair;
  std::size_t at;
};

std::vector<Choosable> choosable(const Margins& margins, const std::vector<Candidate>& all) {
  std::vector<Choosable> out;
  for (std::size_t p = 0; p < margins.pairs.size(); ++p) {
    for (const Candidate& pair : all) {
      if (pair.first == margins.pairs[p].first && pair.second == margins.pairs[p].second)
        out.push_back({pair, p});
    }
  }
  return out;
}

/// No gain is above the energy of noise in a pair, of all classes. Above 0.
double largest_gain(const std::vector<Choosable>& pairs,
                    const std::vector<std::vector<NoisyInteraction>>& known) {
  double most = 1e-300;
  for (const auto& [pair, p] : pairs) {
    double noise = 0;
    for (const auto& of_class : known) {
      const NoisyInteraction& own = of_class[p];
      noise +=
          static_cast<double>((own.measured.rows() - 1) * (own.measured.cols() - 1)) * own.sigma * own.sigma;
    }
    most = std::max(most, noise * pair.weight * pair.weight);
  }
  return most;
}

/// The `count` pairs of the greatest gain, in their own order; of equal ones the first. @returns their sum
Steps greatest(const std::vector<Steps>& gains, std::size_t count, std::vector<std::size_t>& chosen,
               Comparisons& compare) {
  std::vector<std::size_t> order(gains.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return gains[a].value > gains[b].value; });
  // Whether another belongs among them can be in doubt for those next to the last one alone: the others are
  // further apart.
  for (std::size_t k = count; k < order.size(); ++k) compare.less(gains[order[count - 1]], gains[order[k]]);
  for (std::size_t k = 0; k + 1 < count && count < order.size(); ++k)
    compare.less(gains[order[count]], gains[order[k]]);
  chosen.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(chosen.begin(), chosen.end());
  Steps sum;
  for (const std::size_t k : chosen) sum += gains[k];
  return sum;
}

/// Pairs that are worth most, as many as are worth most together: the more there are, the noisier is each.
Choice chosen_pairs(const Known& known) {
  Comparisons compare;
  const std::vector<std::vector<NoisyInteraction>> interactions = noisy_interactions(known.margins);
  const std::vector<Candidate> all = candidates(known.workload);
  const std::vector<Choosable> pairs = choosable(known.margins, all);
  const double usual_weight =
      weight_of(all) / std::sqrt(static_cast<double>(std::max<std::size_t>(1, all.size())));
  const double scale = largest_gain(pairs, interactions);
  Steps most;
  Choice best;
  for (std::size_t count = 1; count <= pairs.size(); count = std::max(count + 1, count * 9 / 8)) {
    const double sigma =
        known.sigma_round * std::sqrt(static_cast<double>(count)) * usual_weight;  // of weight 1
    std::vector<Steps> gains;
    for (const auto& [pair, p] : pairs) {
      double gain = 0;
      for (const auto& of_class : interactions) gain += gain_of(of_class[p], sigma / pair.weight);
      gains.push_back(in_steps(gain * pair.weight * pair.weight, scale));
    }
    std::vector<std::size_t> chosen;
    const Steps sum = greatest(gains, count, chosen, compare);
    if (!compare.less(most, sum)) continue;
    most = sum;
    Merged merged = merged_columns(known, least_records(sigma, known.records), all);
    std::vector<Candidate> counted;
    for (const std::size_t k : chosen) counted.push_back(pairs[k].pair);
    best = {tables_on(counted, merged.groups, false), std::move(merged.groups), std::move(merged.in_doubt)};
  }
  best.pairs_in_doubt = !compare.steady();
  return best;
}

void check_round(const release::NoisyTables& so_far, const features::CountTables& workload,
                 std::size_t classes, std::size_t round, std::size_t rounds) {
  if (round < rounds && so_far.codes == workload.codes && so_far.classes == classes && !so_far.tables.empty())
    return;
  throw ConfigError("round " + std::to_string(round + 1) + " of " + std::to_string(rounds) +
                    " needs the noisy tables of the rounds before, of the same columns and classes");
}

}  // namespace

std::vector<features::CountTable> tables_beforehand(const features::CountTables& workload, double records,
                                                    double sigma_round) {
  const std::vector<Candidate> pairs = candidates(workload);
  // No more than a round may count (merged_columns()), were there none but learned columns.
  const double fits = std::sqrt(static_cast<double>(kMostCells) / static_cast<double>(pairs.size() + 1));
  const double most = std::min(fits, groups_beforehand(records, sigma_round * weight_of(pairs)));
  std::vector<Groups> groups;
  for (std::size_t j = 0; j < workload.codes.size(); ++j) {
    Groups own = codes_themselves(workload.codes[j]);
    if (has_learned_bins(workload, j)) {
      const std::size_t cells = workload.grid_cells[j];
      const std::size_t parts = std::clamp<std::size_t>(static_cast<std::size_t>(most), 1, cells);
      for (std::size_t x = 0; x < cells; ++x) own[x] = static_cast<std::uint32_t>(x * parts / cells);
      for (std::size_t x = cells; x < own.size(); ++x) own[x] = static_cast<std::uint32_t>(parts + x - cells);
    }
    groups.push_back(std::move(own));
  }
  std::vector<features::CountTable> out = tables_on(pairs, groups, false);
  return with_rows_counted(workload, out.empty() ? single_columns(workload) : std::move(out));
}

Choice tables_of_round(const features::CountTables& workload, const release::NoisyTables& so_far,
                       std::size_t classes, std::size_t round, std::size_t rounds, double sigma_round) {
  Choice out;
  if (round == 0 && !workload.learns() && rounds < privacy::kMostRoundsOfCounts) {
    out.tables = workload.tables;
    std::erase_if(out.tables, [](const features::CountTable& table) { return !(table.weight > 0); });
  } else if (round > 0) {
    check_round(so_far, workload, classes, round, rounds);
    const Margins margins = combine_tables(so_far);
    const std::vector<Groups> bounds = bounds_of(so_far);
    const Known known{workload, margins, bounds, std::max(1.0, so_far.records), sigma_round};
    out = counts_all_pairs(workload, round, rounds) ? all_pairs(known) : chosen_pairs(known);
  }
  // Where noise hides all pairs, the columns are what is left to count.
  if (out.tables.empty()) out.tables = single_columns(workload);
  out.tables = with_rows_counted(workload, std::move(out.tables));
  features::CountTables placed{workload.codes, std::move(out.tables), workload.grid_cells};
  placed.lay_out();
  out.tables = std::move(placed.tables);
  return out;
}

}  // namespace muffle::pair_graph
