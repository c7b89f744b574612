#include <algorithm>
#include <array>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "pair_graph_gibbs.hpp"
#include "rows_law.hpp"

namespace muffle::pair_graph {
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

/// The law of a column's codes, by that of its groups.
std::vector<double> of_codes(const std::vector<double>& law, const PairGraphCells* cells, std::size_t c) {
  if (cells == nullptr) return law;
  std::vector<double> out;
  for (std::size_t x = 0; x < cells->group.size(); ++x)
    out.push_back(law[cells->group[x]] * static_cast<double>(cells->share[c][x]));
  return out;
}

/// d: of each code; 0 beyond the bins. @param c  the law's class
std::vector<std::vector<double>> tilts_of(const PairGraphLaw& law, const PairGraphModel& model,
                                          std::size_t c) {
  std::vector<std::vector<double>> out;
  const auto laws = column_laws_of(law, model.codes);
  for (std::size_t j = 0; j < model.codes.size(); ++j) {
    std::vector<double> tilts;
    if (j < model.bin_widths.size() && !model.bin_widths[j].empty()) {
      const std::vector<double>& widths = model.bin_widths[j];
      const std::vector<double> own = of_codes(laws[j], model.cells_of(j), c);
      tilts = bin_tilts(std::span(own).first(widths.size()), widths);
    }
    tilts.resize(model.cells_of(j) ? model.cells_of(j)->group.size() : model.codes[j], 0.0);
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
class PairGraphSampler : public sampling::Sampler {
 public:
  explicit PairGraphSampler(const PairGraphModel& model) : codes_(model.codes), sweeps_(model.sweeps) {
    for (std::size_t c = 0; c < model.laws.size(); ++c) {
      laws_.emplace_back(model.codes, model.laws[c]);
      tilts_.push_back(tilts_of(model.laws[c], model, c));
      std::vector<std::vector<Members>>& members = members_.emplace_back(model.codes.size());
      for (const PairGraphCells& cells : model.cells) members[cells.column] = members_of(cells, c);
    }
    // All classes have one law of it.
    if (model.row_number)
      people_ = pair_graph::people_by_rows(
          not_growing(column_laws_of(model.laws.front(), model.codes)[*model.row_number]));
  }

  std::vector<double> people_by_rows() const override { return people_; }

  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const sampling::Departure>) const override {
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
      const std::vector<Members>& members = members_[label][j];
      for (std::size_t r = 0; r < which.size(); ++r) {
        double uniform = (static_cast<double>(words[r]) + 0.5) * 0x1p-32;
        std::uint32_t code = codes[r];
        if (!members.empty()) code = members[code].draw(uniform);
        out[which[r] * d + j] = schema::position({code, place(tilts[code], uniform)}, tilts.size());
      }
    }
  }

  /// The codes of a group, and by which part of its records each is passed.
  struct Members {
    std::vector<std::uint32_t> codes;
    std::vector<double> passed;

    /// @param uniform  in (0, 1); becomes the place in the code
    std::uint32_t draw(double& uniform) const {
      const double at = uniform * passed.back();
      const auto next = std::min<std::size_t>(
          static_cast<std::size_t>(std::upper_bound(passed.begin(), passed.end(), at) - passed.begin()),
          codes.size() - 1);
      const double before = next == 0 ? 0.0 : passed[next - 1];
      uniform = std::clamp((at - before) / (passed[next] - before), 0.0, 1 - 0x1p-32);
      return codes[next];
    }
  };
  static std::vector<Members> members_of(const PairGraphCells& cells, std::size_t c) {
    std::vector<Members> out(1 + *std::max_element(cells.group.begin(), cells.group.end()));
    for (std::uint32_t x = 0; x < cells.group.size(); ++x) {
      const double share = static_cast<double>(cells.share[c][x]);
      Members& own = out[cells.group[x]];
      if (!(share > 0)) continue;
      own.codes.push_back(x);
      own.passed.push_back((own.passed.empty() ? 0.0 : own.passed.back()) + share);
    }
    return out;
  }

  std::vector<std::size_t> codes_;
  std::size_t sweeps_;
  std::vector<std::vector<std::vector<Members>>> members_;  ///< C of d: of each group; empty: of no groups
  std::vector<GibbsLaw> laws_;
  std::vector<std::vector<std::vector<double>>> tilts_;  ///< C of d: of each code
  std::vector<double> people_;                           ///< people_by_rows()
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

std::unique_ptr<sampling::Sampler> make_sampler(const PairGraphModel& model) {
  return std::make_unique<PairGraphSampler>(model);
}

}  // namespace muffle::pair_graph
