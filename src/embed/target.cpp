#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/embed/artifact.hpp"

namespace muffle::embed {

Target make_target(const Artifact& a) {
  const std::size_t classes = a.classes(), features = a.features();
  require(
      a.values.size() == classes * features + (a.counts ? classes : 0),
      "a release has another number of values than its classes and features need: this is a bug in muffle.");
  Target target;
  target.records = static_cast<double>(a.records);
  target.class_share.assign(classes, 1.0 / static_cast<double>(classes));
  target.column_weight.assign(classes, 1.0);
  if (a.counts) {
    // One record counts floor(lambda 2^k) lattice units (Layout::counts_units).
    const double unit = std::floor(std::ldexp(a.counts_weight, a.lattice_bits));
    std::vector<double> counts(classes);
    for (std::size_t c = 0; c < classes; ++c)
      counts[c] = static_cast<double>(a.values[classes * features + c]) / unit;
    if (a.adjacency == privacy::Adjacency::kAddRemoveOne) {
      target.records = std::accumulate(counts.begin(), counts.end(), 0.0);
      if (!(target.records >= 1)) {
        throw DataError(fmt::format(
            "the released class counts sum to {:.1f} records: the noise outweighs the data, so there "
            "is nothing to train on. Release with a larger epsilon, or from more records.",
            target.records));
      }
    }
    double positive = 0.0;
    for (const double count : counts) positive += std::max(count, 0.0);
    const double least = std::max(1.0, noise_of_each_value(a) / unit);
    // Should every count be negative, all that is known is the number of classes.
    for (std::size_t c = 0; positive > 0 && c < classes; ++c) {
      target.class_share[c] = std::max(counts[c], 0.0) / positive;
      target.column_weight[c] =
          counts[c] > 0 ? target.records / (static_cast<double>(classes) * std::max(counts[c], least)) : 0.0;
    }
  }
  const double scale = target.records * static_cast<double>((std::int64_t{1} << a.lattice_bits) - 1);
  target.mean_embedding.resize(classes * features);
  for (std::size_t i = 0; i < target.mean_embedding.size(); ++i) {
    target.mean_embedding[i] = static_cast<float>(static_cast<double>(a.values[i]) / scale);
  }
  return target;
}

}  // namespace muffle::embed
