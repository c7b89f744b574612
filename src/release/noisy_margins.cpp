#include "muffle/release/noisy_margins.hpp"

#include <algorithm>
#include <cmath>

namespace muffle::release {
namespace {

/// Of the table's column `c`, over all classes.
NoisyMargin margin_of(const NoisyTable& table, std::size_t c, std::size_t codes, std::size_t classes) {
  NoisyMargin out;
  std::size_t inner = 1;
  for (std::size_t k = c + 1; k < table.sizes.size(); ++k) inner *= table.sizes[k];
  const std::size_t size = table.sizes[c], cells = table.cells();
  std::vector<double> groups(size, 0.0);
  for (std::size_t y = 0; y < classes; ++y) {
    const auto of_class = table.of_class(y);
    for (std::size_t i = 0; i < cells; ++i) groups[i / inner % size] += of_class[i];
  }
  out.sigma = table.sigma * std::sqrt(static_cast<double>(cells / size * classes));
  const bool grouped = c < table.groups.size() && !table.groups[c].empty();
  std::vector<double> members(size, 0.0);
  for (std::size_t x = 0; x < codes; ++x) {
    out.group.push_back(grouped ? table.groups[c][x] : static_cast<std::uint32_t>(x));
    members[out.group.back()] += 1.0;
  }
  for (std::size_t x = 0; x < codes; ++x) {
    out.share.push_back(1.0 / members[out.group[x]]);
    out.counts.push_back(groups[out.group[x]] * out.share.back());
  }
  return out;
}

}  // namespace

std::vector<NoisyMargin> noisy_margins(const NoisyTables& all, const schema::Schema& schema) {
  std::vector<NoisyMargin> out(all.codes.size());
  std::vector<std::size_t> groups(out.size(), 0);  // the finer, the better; then the less noise
  for (const NoisyTable& table : all.tables) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::size_t j = table.columns[c];
      NoisyMargin margin = margin_of(table, c, all.codes[j], all.classes);
      const bool better =
          table.sizes[c] > groups[j] || (table.sizes[c] == groups[j] && margin.sigma < out[j].sigma);
      if (!out[j].counts.empty() && !better) continue;
      groups[j] = table.sizes[c];
      out[j] = std::move(margin);
    }
  }
  for (std::size_t j = 0; j < all.grid_cells.size(); ++j) {
    if (all.grid_cells[j] > 0) out[j].tree = NoisyTree::of(all, j);
  }
  if (schema.classes < 2 || all.tables.empty()) return out;
  const auto total_noise = [](const NoisyTable& t) {
    return t.sigma * t.sigma * static_cast<double>(t.cells());
  };
  const auto least = std::min_element(
      all.tables.begin(), all.tables.end(),
      [&](const auto& one, const auto& other) { return total_noise(one) < total_noise(other); });
  NoisyMargin label;
  label.sigma = std::sqrt(total_noise(*least));
  for (std::size_t y = 0; y < all.classes; ++y) {
    double sum = 0;
    for (const double count : least->of_class(y)) sum += count;
    label.counts.push_back(sum);
    label.group.push_back(static_cast<std::uint32_t>(y));
    label.share.push_back(1.0);
  }
  out.push_back(std::move(label));
  return out;
}

}  // namespace muffle::release
