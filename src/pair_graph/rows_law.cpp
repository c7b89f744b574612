#include "rows_law.hpp"

#include <algorithm>
#include <numeric>

namespace muffle::pair_graph {

std::vector<double> not_growing(std::span<const double> counts) {
  struct Block {
    double sum;
    std::size_t members;
    double mean() const { return sum / static_cast<double>(members); }
  };
  std::vector<Block> blocks;
  for (const double count : counts) {
    blocks.push_back({count, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() < blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().members += last.members;
    }
  }
  std::vector<double> out;
  for (const Block& block : blocks) out.insert(out.end(), block.members, std::max(0.0, block.mean()));
  return out;
}

std::vector<double> rows_law(const release::NoisyTables& tables) {
  const std::size_t codes = tables.codes.at(tables.row_number.value());
  std::vector<double> counts(codes, 0.0);
  for (const release::NoisyTable& table : tables.tables) {
    if (table.columns != std::vector{*tables.row_number} || table.cells() != codes) continue;
    const double precision = 1.0 / std::max(1e-12, table.sigma * table.sigma);
    for (std::size_t at = 0; at < table.counts.size(); ++at)
      counts[at % codes] += precision * table.counts[at];
  }
  std::vector<double> law = not_growing(counts);
  const double all = std::accumulate(law.begin(), law.end(), 0.0);
  if (!(all > 0)) {
    law.assign(codes, 0.0);
    law.front() = 1.0;
    return law;
  }
  for (double& share : law) share /= all;
  return law;
}

std::vector<double> people_by_rows(std::span<const double> law) {
  std::vector<double> out;
  for (std::size_t k = 0; k < law.size(); ++k) {
    const double more = k + 1 < law.size() ? law[k + 1] : 0.0;
    out.push_back(std::max(0.0, law[k] - more) / law.front());
  }
  return out;
}

}  // namespace muffle::pair_graph
