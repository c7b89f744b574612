#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/release/noisy_moments.hpp"

namespace muffle::release {
namespace {

std::vector<double> released_counts(const Artifact& a) {
  const auto unit = static_cast<double>(a.counts_units());
  std::vector<double> counts;
  for (std::size_t c = 0; c < a.classes(); ++c)
    counts.push_back(static_cast<double>(a.values[a.offset(a.maps.size()) + c]) / unit);
  return counts;
}

/// What a map's own numbers tell of the classes' sizes.
std::vector<double> counts_inside(const Artifact& a, std::size_t b, const features::CountsInside& inside) {
  std::vector<double> counts;
  for (std::size_t c = 0; c < a.classes(); ++c) {
    double sum = 0.0;
    const std::size_t first = a.offset(b) + c * a.features(b);
    for (std::size_t i = 0; i < inside.numbers; ++i) sum += static_cast<double>(a.values[first + i]);
    counts.push_back(sum / inside.scale);
  }
  return counts;
}

}  // namespace

std::optional<NoisyCounts> noisy_counts(const Artifact& a) {
  const std::optional<double> sigma = count_noise(a, a.aggregation);
  if (a.counts) return NoisyCounts{released_counts(a), *sigma};
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    if (const auto inside = a.maps[b].map->counts_inside(a.lattice))
      return NoisyCounts{counts_inside(a, b, *inside), *sigma};
  }
  return std::nullopt;
}

std::optional<NoisyTotal> noisy_total(const Artifact& a) {
  double sum = 0.0, weights = 0.0;
  const auto add = [&](double records, double sigma) {
    sum += records / (sigma * sigma);
    weights += 1.0 / (sigma * sigma);
  };
  const auto classes = static_cast<double>(a.classes());
  const auto add_counts = [&](const std::vector<double>& counts, double sigma) {
    add(std::accumulate(counts.begin(), counts.end(), 0.0), sigma * std::sqrt(classes));
  };
  if (a.counts)
    add_counts(released_counts(a),
               carried_sigma(a, a.aggregation, a.maps.size(), 0) / static_cast<double>(a.counts_units()));
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    const features::FeatureMap& map = *a.maps[b].map;
    const double sigma = carried_sigma(a, a.aggregation, b, 0);
    if (!map.tables()) {
      if (const auto inside = map.counts_inside(a.lattice))
        add_counts(counts_inside(a, b, *inside),
                   sigma * std::sqrt(static_cast<double>(inside->numbers)) / inside->scale);
      continue;
    }
    // Every record is in one cell of each table.
    const features::CountTables& all = map.tables()->counted();
    const std::vector<std::int64_t> units = all.units(a.lattice);
    for (std::size_t t = 0; t < all.tables.size(); ++t) {
      double total = 0.0;
      for (std::size_t c = 0; c < a.classes(); ++c) {
        const std::int64_t* const cells =
            a.values.data() + a.offset(b) + c * a.features(b) + all.tables[t].first;
        total += std::accumulate(cells, cells + all.tables[t].cells, 0.0);
      }
      const auto unit = static_cast<double>(units[t]);
      add(total / unit, sigma / unit * std::sqrt(classes * static_cast<double>(all.tables[t].cells)));
    }
  }
  if (!(weights > 0)) return std::nullopt;
  return NoisyTotal{sum / weights, std::sqrt(1.0 / weights)};
}

std::string few_records(const Artifact& a) {
  constexpr double kFew = 0.9, kOf99Percent = 2.5758;
  if (a.adjacency != privacy::Adjacency::kReplaceOne) return {};
  const std::optional<NoisyTotal> total = noisy_total(a);
  const auto most = static_cast<double>(a.records);
  if (!total || !(total->records + kOf99Percent * total->sigma < kFew * most)) return {};
  const bool bounded = a.schema.table && a.schema.table->person();
  const auto shown = [](double records) { return fmt::format("{:.0f}", std::max(0.0, records)); };
  return fmt::format(
      "by its noisy totals only {} to {} of the {} records are in this release (99 % interval). The others "
      "{}did not fit schema and settings: `muffle check` reads the records and says what does not fit. Only "
      "those who may see the records may see what it prints.",
      shown(total->records - kOf99Percent * total->sigma),
      shown(total->records + kOf99Percent * total->sigma), a.records,
      bounded ? "are beyond what a person may own, or " : "");
}

std::vector<double> class_share(const Artifact& a) {
  std::vector<double> share(a.classes(), 0.0);
  if (const auto noisy = noisy_counts(a)) {
    std::transform(noisy->counts.begin(), noisy->counts.end(), share.begin(),
                   [](double count) { return std::max(count, 0.0); });
  }
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  for (double& s : share) s = sum > 0 ? s / sum : 1.0 / static_cast<double>(share.size());
  return share;
}

double believed_records(const Artifact& a) {
  if (a.adjacency == privacy::Adjacency::kReplaceOne) return static_cast<double>(a.records);
  const auto noisy = noisy_counts(a);
  require(noisy.has_value(), "a release tells neither its number of records nor counts: a bug in muffle.");
  return std::accumulate(noisy->counts.begin(), noisy->counts.end(), 0.0);
}

double records_of(const Artifact& a) {
  const double records = believed_records(a);
  if (!(records >= 1)) {
    throw DataError(
        fmt::format("the released class counts sum to {:.1f} records: the noise outweighs the data, so there "
                    "is nothing to train on. Release with a larger epsilon, or from more records.",
                    records));
  }
  return records;
}

Target make_target(const Artifact& a) {
  const std::size_t classes = a.classes();
  require(
      a.values.size() == a.size(),
      "a release has another number of values than its classes and features need: this is a bug in muffle.");
  Target target;
  target.records = records_of(a);
  target.class_share = class_share(a);
  target.column_weight.assign(classes, 1.0);
  if (const auto noisy = noisy_counts(a)) {
    const std::vector<double>& counts = noisy->counts;
    const double least = std::max(1.0, noisy->sigma);
    // Should every count be negative, all that is known is the number of classes.
    const bool known = std::any_of(counts.begin(), counts.end(), [](double count) { return count > 0; });
    for (std::size_t c = 0; known && c < classes; ++c) {
      target.column_weight[c] =
          counts[c] > 0 ? target.records / (static_cast<double>(classes) * std::max(counts[c], least)) : 0.0;
    }
  }
  return target;
}

NoisyMoments make_noisy_moments(const Artifact& a) {
  const std::size_t b = require_second_moments(a, "a closed-form generator");
  check_map(a, b);
  NoisyMoments out;
  out.classes = a.classes();
  out.moments = a.maps[b].map->second_moments()->moments();
  out.order = out.moments.order();
  out.records = std::max(1.0, believed_records(a));  // noise may have left less: then all is a guess
  const std::size_t q = out.order, features = a.features(b);
  const double scale = a.maps[b].map->scale(a.lattice);
  out.noise_diagonal = carried_sigma(a, a.aggregation, b, 0) / scale;
  out.noise_off_diagonal = q > 1 ? carried_sigma(a, a.aggregation, b, 1) / scale : 0.0;
  out.second.resize(out.classes * q * q);
  for (std::size_t c = 0; c < out.classes; ++c) {
    const std::int64_t* const values = a.values.data() + a.offset(b) + c * features;
    double* const second = out.second.data() + c * q * q;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < q; ++j)
        second[i * q + j] = static_cast<double>(values[features::SecondMoments::index(q, i, j)]) / scale;
    }
  }
  return out;
}

}  // namespace muffle::release
