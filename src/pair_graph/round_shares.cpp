#include <algorithm>
#include <cmath>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/pair_graph/pair_rounds.hpp"

namespace muffle::pair_graph {
namespace {

/// Mean square contingency of the strongest pair, and how often it falls by e down to the weakest one: a
/// guess of what tables are like.
constexpr double kStrongest = 0.3, kFalls = 5.0;
/// A round more must keep so much more of the pairs' energy.
constexpr double kWorthARound = 0.02;

const std::vector<std::vector<double>> kShares{{1.0}, {0.4, 0.6}, {0.18, 0.4, 0.42}};

/// Where bins are learned: the first round's share with few records for the noise of its counts, and with
/// many; fewer than kFewRecords for one of noise are few.
constexpr double kLearnedOfFew = 0.3, kLearnedOfMany = 0.18, kFewRecords = 100.0;

/// The rounds' shares beside the first one's.
std::vector<double> learned_shares(double first, std::size_t rounds) {
  if (rounds == 2) return {first, 1 - first};
  return {first, (1 - first) * kShares[1][0], (1 - first) * kShares[1][1]};
}

/// The first round's share by the number of records. @param records  0: nobody knows
double learned_share(const features::CountTables& workload, double records, double sigma) {
  const double columns = static_cast<double>(workload.codes.size());
  const double noise = sigma * std::sqrt(columns / kLearnedOfMany);
  return records < kFewRecords * noise || !(records > 0) ? kLearnedOfFew : kLearnedOfMany;
}

/// Codes that a column is counted on in a pair, as far as is known beforehand.
double codes_beforehand(const features::CountTables& workload, std::size_t j, double records, double noise) {
  const auto codes = static_cast<double>(workload.codes[j]);
  if (workload.grid_cells.empty() || workload.grid_cells[j] == 0) return codes;
  return std::clamp(groups_beforehand(records, noise), 1.0, codes);
}

/// Which part of the pairs' energy a Wiener filter keeps, if `again` of the strongest pairs are counted with
/// the last share, and all before with another: 0 for none again.
double kept(const features::CountTables& workload, double records, double variance, double first,
            double squares, double last, std::size_t again) {
  std::size_t pairs = 0, at = 0;
  for (const features::CountTable& table : workload.tables) pairs += table.columns.size() == 2;
  double energies = 0, all = 0;
  for (const features::CountTable& table : workload.tables) {
    if (table.columns.size() != 2) continue;
    const double noise = std::sqrt(variance * squares / std::max(first, 1e-12));
    const double k = codes_beforehand(workload, table.columns[0], records, noise),
                 l = codes_beforehand(workload, table.columns[1], records, noise);
    const double rank = static_cast<double>(at) / static_cast<double>(pairs);
    const double energy = kStrongest * std::exp(-kFalls * rank) * records * records / (k * l);
    const double free = std::max(1.0, (k - 1) * (l - 1));
    double precision = first / (free * variance * squares);
    if (at < again) precision += last / (free * variance * static_cast<double>(again));
    energies += energy;
    all += energy * energy / (energy + 1 / precision);
    ++at;
  }
  return energies > 0 ? all / energies : 1.0;
}

}  // namespace

double groups_beforehand(double records, double sigma) {
  constexpr double kUnknown = 8.0;
  if (!(records > 0)) return kUnknown;
  return std::clamp(records / std::sqrt(kLeastLearned * std::max(sigma, 1e-9) * records), 1.0, 64.0);
}

std::vector<std::vector<double>> possible_shares(const features::CountTables& workload, std::size_t rounds) {
  if (rounds < 1 || rounds > kShares.size()) return {};
  if (!workload.learns()) return {kShares[rounds - 1]};
  if (rounds < 2) return {};
  return {learned_shares(kLearnedOfFew, rounds), learned_shares(kLearnedOfMany, rounds)};
}

std::vector<double> round_shares(const features::CountTables& workload, std::size_t classes, double records,
                                 double sigma, std::size_t rounds) {
  if (rounds > privacy::kMostRoundsOfCounts)
    throw ConfigError("privacy.rounds is " + std::to_string(rounds) + ", at most " +
                      std::to_string(privacy::kMostRoundsOfCounts) + " are possible");
  const bool learns = workload.learns();
  const double first = learns ? learned_share(workload, records, sigma) : 0.0;
  if (learns && rounds > 0) return learned_shares(first, std::max<std::size_t>(2, rounds));
  if (rounds > 0) return kShares[rounds - 1];
  std::size_t pairs = 0;
  double squares = 0, pair_squares = 0;
  for (const features::CountTable& table : workload.tables) {
    squares += table.weight * table.weight;
    if (table.columns.size() != 2) continue;
    ++pairs;
    pair_squares += table.weight * table.weight;
  }
  if (pairs == 0) return learns ? learned_shares(first, 2) : kShares.front();
  const double variance = std::max(1e-12, sigma * sigma);
  // The records of a class of usual size.
  const double each = std::max(1.0, records) / static_cast<double>(std::max<std::size_t>(1, classes));
  if (learns) {
    const std::vector<double> two = learned_shares(first, 2), three = learned_shares(first, 3);
    const double once = kept(workload, each, variance, two[1], pair_squares, 0.0, 0);
    double twice = 0.0;
    for (std::size_t again = 1; again <= pairs; again = std::max(again + 1, again * 9 / 8))
      twice = std::max(twice, kept(workload, each, variance, three[1], pair_squares, three[2], again));
    return twice > once * (1 + kWorthARound) ? three : two;
  }
  std::vector<double> best{kept(workload, each, variance, 1.0, squares, 0.0, 0), 0.0, 0.0};
  for (std::size_t again = 1; again <= pairs; again = std::max(again + 1, again * 9 / 8)) {
    best[1] = std::max(best[1], kept(workload, each, variance, kShares[1][0], squares, kShares[1][1], again));
    best[2] =
        std::max(best[2], kept(workload, each, variance, kShares[2][1], pair_squares, kShares[2][2], again));
  }
  std::size_t chosen = 0;
  for (std::size_t r = 1; r < best.size(); ++r) {
    if (best[r] > best[chosen] * (1 + kWorthARound)) chosen = r;
  }
  // What tells labels is each class's own columns, on which the first of three rounds is spent.
  if (chosen == 1 && classes > 1) chosen = 2;
  return kShares[chosen];
}

}  // namespace muffle::pair_graph
