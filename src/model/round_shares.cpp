#include <algorithm>
#include <cmath>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/model/pair_rounds.hpp"

namespace muffle::model {
namespace {

/// Mean square contingency of the strongest pair, and how often it falls by e down to the weakest one: a
/// guess of what tables are like.
constexpr double kStrongest = 0.3, kFalls = 5.0;
/// A round more must keep so much more of the pairs' energy.
constexpr double kWorthARound = 0.02;

const std::vector<std::vector<double>> kShares{{1.0}, {0.4, 0.6}, {0.18, 0.4, 0.42}};

/// Which part of the pairs' energy a Wiener filter keeps, if `again` of the strongest pairs are counted with
/// the last share, and all before with another: 0 for none again.
double kept(const features::CountTables& workload, double records, double variance, double first,
            double squares, double last, std::size_t again) {
  std::size_t pairs = 0, at = 0;
  for (const features::CountTable& table : workload.tables) pairs += table.columns.size() == 2;
  double energies = 0, all = 0;
  for (const features::CountTable& table : workload.tables) {
    if (table.columns.size() != 2) continue;
    const auto k = static_cast<double>(workload.codes[table.columns[0]]),
               l = static_cast<double>(workload.codes[table.columns[1]]);
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

std::vector<double> round_shares(const features::CountTables& workload, std::size_t classes, double records,
                                 double sigma, std::size_t rounds) {
  if (rounds > privacy::kMostRounds)
    throw ConfigError("privacy.rounds is " + std::to_string(rounds) + ", at most " +
                      std::to_string(privacy::kMostRounds) + " are possible");
  if (rounds > 0) return kShares[rounds - 1];
  std::size_t pairs = 0;
  double squares = 0, pair_squares = 0;
  for (const features::CountTable& table : workload.tables) {
    squares += table.weight * table.weight;
    if (table.columns.size() != 2) continue;
    ++pairs;
    pair_squares += table.weight * table.weight;
  }
  if (pairs == 0) return kShares.front();
  const double variance = std::max(1e-12, sigma * sigma);
  // The records of a class of usual size.
  const double each = std::max(1.0, records) / static_cast<double>(std::max<std::size_t>(1, classes));
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

}  // namespace muffle::model
