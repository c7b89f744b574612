#include "pair_graph_chains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace muffle::pair_graph {

using Eigen::Index;

std::size_t chains_for(const CellNoise& noise, std::size_t averaged) {
  constexpr double kShare = 0.3, kForColumns = 4;
  const double chance = kShare * noise.share;
  const double wanted = std::max(1 / (2 * static_cast<double>(averaged) * noise.cells * chance * chance),
                                 kForColumns / noise.share);
  return static_cast<std::size_t>(
      std::clamp(wanted, static_cast<double>(kLeastChains), static_cast<double>(kMostChains)));
}

Chains::Chains(const std::vector<std::size_t>& codes, const PairGraphLaw& law, std::size_t sweeps,
               std::uint32_t substream)
    : codes_(codes),
      law_(codes, law),
      sweeps_(sweeps),
      records_(codes),
      random_(0, Stream::kTrainLatent, substream) {
  for (std::size_t j = 0; j < codes.size(); ++j) seen_.push_back(law_.no_meetings(j));
}

std::vector<Eigen::MatrixXd> Chains::show(const PairGraphLaw& law, std::size_t chains) {
  law_.set_parameters(law);
  for (GibbsLaw::Meetings& seen : seen_) std::fill(seen.begin(), seen.end(), FloatPacket{});
  std::array<std::uint64_t, GibbsRecords::kMost> blocks;
  for (std::size_t i = 0; i < chains; i += GibbsRecords::kMost) {
    const std::size_t some = std::min(GibbsRecords::kMost, chains - i);
    for (std::size_t r = 0; r < some; ++r) blocks[r] = next_++ * GibbsRecords::blocks(codes_.size(), sweeps_);
    records_.begin(random_, std::span(blocks).first(some));
    law_.draw_tree(records_);
    for (std::size_t s = 0; s + 1 < sweeps_; ++s) law_.sweep(records_);
    law_.sweep(records_,
               [&](const GibbsLaw::Met& met) { law_.add_meetings(records_, met, seen_[met.column]); });
  }
  std::vector<Eigen::MatrixXd> out;
  std::vector<std::size_t> next(codes_.size());
  for (const auto& [first, second, interaction] : law.pairs) {
    const std::size_t a = next[first]++, b = next[second]++;
    Eigen::MatrixXd& shares =
        out.emplace_back(static_cast<Index>(codes_[first]), static_cast<Index>(codes_[second]));
    for (std::size_t x = 0; x < codes_[first]; ++x) {
      for (std::size_t y = 0; y < codes_[second]; ++y) {
        const float both =
            law_.meetings(seen_[first], first, a, x, y) + law_.meetings(seen_[second], second, b, y, x);
        shares(static_cast<Index>(x), static_cast<Index>(y)) =
            static_cast<double>(both) / (2.0 * static_cast<double>(chains));
      }
    }
  }
  return out;
}

}  // namespace muffle::pair_graph
