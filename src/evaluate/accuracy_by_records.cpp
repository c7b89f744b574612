#include "accuracy_by_records.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "rounded.hpp"

namespace muffle::evaluate {

std::vector<std::size_t> sizes_within(std::vector<std::size_t> sizes, std::size_t there,
                                      std::vector<std::string>& notes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::size_t> out;
  for (const std::size_t size : sizes) {
    if (size <= there) {
      out.push_back(size);
    } else {
      notes.push_back(fmt::format("evaluate.train_sizes: {} is left out, as there are {} synthetic records",
                                  size, there));
      spdlog::info("evaluate: {}", notes.back());
    }
  }
  return out;
}

void add_accuracies(const char* under, const std::vector<std::string>& names,
                    const std::vector<AccuraciesOf>& of_sizes, Findings& out) {
  if (of_sizes.empty()) return;
  FoundTable table{"accuracy, trained on the first so many synthetic records", names, {}};
  FoundSeries series{table.title, "synthetic records", {}, {}};
  for (const std::string& name : names) series.lines.push_back({name, {}});
  for (const auto& [records, accuracies] : of_sizes) {
    const std::string size = std::to_string(records);
    FoundTable::Row& row = table.rows.emplace_back();
    row.name = size;
    series.at.push_back(static_cast<double>(records));
    for (std::size_t i = 0; i < names.size(); ++i) {
      row.cells.push_back(
          Fineness().share_cell(accuracies.at(i), {under, names[i], "accuracy_by_records", size}));
      series.lines[i].values.push_back(Fineness().share(accuracies[i]));
    }
  }
  out.tables.push_back(std::move(table));
  out.series.push_back(std::move(series));
}

}  // namespace muffle::evaluate
