#include <algorithm>
#include <array>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/pair_graph.hpp"
#include "pair_graph_gibbs.hpp"

namespace muffle::model {
namespace {

/// d: each column's law under the tree, which is the law that the fit gave it.
std::vector<std::vector<double>> column_laws_of(const PairGraphLaw& law,
                                                const std::vector<std::size_t>& codes) {
  std::vector<std::vector<double>> out;
  for (const std::size_t k : codes) out.emplace_back(k, 0.0);
  for (const PairGraphLaw::Branch& branch : law.tree) {
    std::vector<double>& own = out[branch.column];
    const std::size_t k = own.size();
    for (std::size_t at = 0; at < branch.given.size(); ++at)
      own[at % k] += (branch.parent == branch.column ? 1.0 : out[branch.parent][at / k]) *
                     static_cast<double>(branch.given[at]);
  }
  return out;
}

/// d: of each code; 0 beyond the bins.
std::vector<std::vector<double>> tilts_of(const PairGraphLaw& law, const PairGraphModel& model) {
  std::vector<std::vector<double>> out;
  const auto laws = column_laws_of(law, model.codes);
  for (std::size_t j = 0; j < model.codes.size(); ++j) {
    std::vector<double> tilts;
    if (j < model.bin_widths.size() && !model.bin_widths[j].empty()) {
      const std::vector<double>& widths = model.bin_widths[j];
      tilts = bin_tilts(std::span(laws[j]).first(widths.size()), widths);
    }
    tilts.resize(model.codes[j], 0.0);
    out.push_back(std::move(tilts));
  }
  return out;
}

/// The place t at which a bin's law, (1 - tilt) t + tilt t^2 of it, has passed this share.
float place(double tilt, double passed) {
  if (tilt == 0) return static_cast<float>(passed);
  const double a = 1 - tilt;
  return static_cast<float>(2 * passed / (a + std::sqrt(a * a + 4 * tilt * passed)));
}

/// A record takes a random number for each column of the tree, of each sweep, and for its places in the bins.
class PairGraphSampler : public Sampler {
 public:
  explicit PairGraphSampler(const PairGraphModel& model) : codes_(model.codes), sweeps_(model.sweeps) {
    for (const PairGraphLaw& law : model.laws) {
      laws_.emplace_back(model.codes, law);
      tilts_.push_back(tilts_of(law, model));
    }
  }

  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const Departure>) const override {
    require(out.size() == labels.size() * codes_.size(),
            "records do not fit the place for them: this is a bug in muffle.");
    std::vector<std::vector<std::size_t>> of_class(laws_.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      require(labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < laws_.size(),
              "a label is outside the model's classes");
      of_class[static_cast<std::size_t>(labels[i])].push_back(i);
    }
    const CounterStream random(seed, Stream::kSampleLatent);
    GibbsRecords records(codes_);
    for (std::size_t c = 0; c < laws_.size(); ++c) {
      for (std::size_t from = 0; from < of_class[c].size(); from += GibbsRecords::kMost) {
        const std::size_t n = std::min(GibbsRecords::kMost, of_class[c].size() - from);
        draw_some(c, random, first, std::span(of_class[c]).subspan(from, n), records, out);
      }
    }
  }

 private:
  /// @param which  of the records, counted from `first`, at most GibbsRecords::kMost
  void draw_some(std::size_t label, const CounterStream& random, std::uint64_t first,
                 std::span<const std::size_t> which, GibbsRecords& records, std::span<float> out) const {
    const std::size_t d = codes_.size();
    const GibbsLaw& law = laws_[label];
    std::array<std::uint64_t, GibbsRecords::kMost> blocks;
    for (std::size_t r = 0; r < which.size(); ++r)
      blocks[r] = (first + which[r]) * GibbsRecords::blocks(d, sweeps_);
    records.begin(random, std::span(blocks).first(which.size()));
    law.draw_tree(records);
    for (std::size_t s = 0; s < sweeps_; ++s) law.sweep(records);
    for (std::size_t j = 0; j < d; ++j) {
      const std::uint32_t *const words = records.words(j), *const codes = records.codes(j);
      const std::vector<double>& tilts = tilts_[label][j];
      for (std::size_t r = 0; r < which.size(); ++r) {
        const double uniform = (static_cast<double>(words[r]) + 0.5) * 0x1p-32;
        out[which[r] * d + j] = schema::position({codes[r], place(tilts[codes[r]], uniform)}, codes_[j]);
      }
    }
  }

  std::vector<std::size_t> codes_;
  std::size_t sweeps_;
  std::vector<GibbsLaw> laws_;
  std::vector<std::vector<std::vector<double>>> tilts_;  ///< C of d: of each code
};

}  // namespace

std::vector<double> bin_tilts(std::span<const double> mass, std::span<const double> width) {
  std::vector<double> out(mass.size(), 0.0);
  const auto height = [&](std::size_t b) { return mass[b] / width[b]; };
  const auto slope = [&](std::size_t b, std::size_t c) {  // between bins b < c
    double apart = (width[b] + width[c]) / 2;
    for (std::size_t between = b + 1; between < c; ++between) apart += width[between];
    return (height(c) - height(b)) / apart;
  };
  for (std::size_t b = 0; b < mass.size(); ++b) {
    const bool first = b == 0, last = b + 1 == mass.size();
    if (!(mass[b] > 0) || (first && last)) continue;
    const double before = first ? slope(b, b + 1) : slope(b - 1, b), after = last ? before : slope(b, b + 1);
    if (!(before * after > 0)) continue;
    const double steepest = 2 * std::min(std::fabs(before), std::fabs(after));
    const double central = std::fabs(slope(first ? b : b - 1, last ? b : b + 1));
    const double tilt = std::min({steepest, central, 2 * height(b) / width[b]}) * width[b] / (2 * height(b));
    out[b] = std::copysign(std::min(tilt, 1.0), before);
  }
  return out;
}

std::unique_ptr<Sampler> make_sampler(const PairGraphModel& model) {
  return std::make_unique<PairGraphSampler>(model);
}

}  // namespace muffle::model
