#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release {
namespace {

NoisyCounts released_counts(const Artifact& a) {
  // One record counts floor(lambda 2^k) lattice units (Layout::counts_units).
  const double unit = std::floor(std::ldexp(a.counts_weight, a.lattice_bits));
  const std::size_t first = a.offset(a.blocks.size());
  NoisyCounts out;
  for (std::size_t c = 0; c < a.classes(); ++c)
    out.counts.push_back(static_cast<double>(a.values[first + c]) / unit);
  out.sigma = carried_sigma(a, a.blocks.size(), 0) / unit;
  return out;
}

/// A record's z has length 1, so the trace of z z^T counts it.
NoisyCounts traces(const Artifact& a, std::size_t block) {
  const features::MomentsSpec& spec = *a.blocks[block].spec.moments();
  const std::size_t q = features::moments_order(spec);
  const double scale = features::moments_scale(spec) * features::moments_scale(spec);
  NoisyCounts out;
  for (std::size_t c = 0; c < a.classes(); ++c) {
    double trace = 0.0;  // the diagonal comes first
    const std::size_t first = a.offset(block) + c * a.features(block);
    for (std::size_t i = 0; i < q; ++i) trace += static_cast<double>(a.values[first + i]);
    out.counts.push_back(trace / scale);
  }
  out.sigma = std::sqrt(static_cast<double>(q)) * carried_sigma(a, block, 0) / scale;
  return out;
}

}  // namespace

std::optional<NoisyCounts> noisy_counts(const Artifact& a) {
  if (a.counts) return released_counts(a);
  if (const auto block = a.find("moments")) return traces(a, *block);
  return std::nullopt;
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

double records_of(const Artifact& a) {
  if (a.adjacency == privacy::Adjacency::kReplaceOne) return static_cast<double>(a.records);
  const auto noisy = noisy_counts(a);
  require(noisy.has_value(), "a release tells neither its number of records nor counts: a bug in muffle.");
  const double records = std::accumulate(noisy->counts.begin(), noisy->counts.end(), 0.0);
  if (!(records >= 1)) {
    throw DataError(
        fmt::format("the released class counts sum to {:.1f} records: the noise outweighs the data, so there "
                    "is nothing to train on. Release with a larger epsilon, or from more records.",
                    records));
  }
  return records;
}

Target make_target(const Artifact& a, std::string_view kind) {
  const std::size_t block = require_block(
      a, kind,
      kind == "rff" ? "training a generator on random Fourier features" : "a choice between two models");
  const std::size_t classes = a.classes(), features = a.features(block);
  require(
      a.values.size() == a.offset(a.blocks.size()) + (a.counts ? classes : 0),
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
  // The block's weight changed what its noise is, not its integers.
  const double scale = target.records * static_cast<double>((std::int64_t{1} << a.lattice_bits) - 1);
  const std::size_t first = a.offset(block);
  target.mean_embedding.resize(classes * features);
  for (std::size_t i = 0; i < target.mean_embedding.size(); ++i)
    target.mean_embedding[i] = static_cast<float>(static_cast<double>(a.values[first + i]) / scale);
  return target;
}

}  // namespace muffle::release
