#include "pair_graph_chains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace muffle::model {

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
      random_(0, Stream::kTrainLatent, substream),
      partner_(codes.size()) {
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    const auto rows = static_cast<Index>(codes[pair.first]), columns = static_cast<Index>(codes[pair.second]);
    partner_[pair.first].push_back({pair.second, Eigen::MatrixXf(rows, columns)});
    partner_[pair.second].push_back({pair.first, Eigen::MatrixXf(columns, rows)});
  }
}

std::vector<Eigen::MatrixXd> Chains::show(const PairGraphLaw& law, std::size_t chains) {
  law_.set_parameters(law);
  for (auto& partners : partner_) {
    for (Partner& partner : partners) partner.seen.setZero();
  }
  std::array<std::uint64_t, GibbsRecords::kMost> blocks;
  for (std::size_t i = 0; i < chains; i += GibbsRecords::kMost) {
    const std::size_t some = std::min(GibbsRecords::kMost, chains - i);
    for (std::size_t r = 0; r < some; ++r) blocks[r] = next_++ * GibbsRecords::blocks(codes_.size(), sweeps_);
    records_.begin(random_, std::span(blocks).first(some));
    law_.draw_tree(records_);
    for (std::size_t s = 0; s + 1 < sweeps_; ++s) law_.sweep(records_);
    law_.sweep(records_, [&](const GibbsLaw::Met& met) { see(met); });
  }
  std::vector<Eigen::MatrixXd> out;
  std::vector<std::size_t> next(codes_.size());
  for (const auto& pair : law.pairs) {
    const Eigen::MatrixXf &first = partner_[pair.first][next[pair.first]++].seen,
                          &second = partner_[pair.second][next[pair.second]++].seen;
    out.push_back((first + second.transpose()).cast<double>() / (2.0 * static_cast<double>(chains)));
  }
  return out;
}

void Chains::see(const GibbsLaw::Met& met) {
  const auto k = static_cast<Index>(codes_[met.column]);
  for (Partner& partner : partner_[met.column]) {
    const std::uint32_t* const codes = records_.codes(partner.column);
    for (std::size_t r = 0; r < records_.count(); ++r)
      partner.seen.col(static_cast<Index>(codes[r])) +=
          Eigen::Map<const Eigen::VectorXf>(met.shares + r * met.stride, k);
  }
}

}  // namespace muffle::model
