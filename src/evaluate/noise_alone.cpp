#include "noise_alone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "marginals.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/noisy_margins.hpp"

namespace muffle::evaluate {
namespace {

/// Total variation that noise of a standard deviation makes in so many cells, on average: half the sum of
/// E|N| = sigma sqrt(2 / pi) each; never more than 1.
double displaced(double cells, double sigma, double records) {
  return std::min(1.0, cells * sigma / std::sqrt(2 * std::numbers::pi) / std::max(1.0, records));
}

/// Of two columns, or of one and the label: by the table of most cells.
class Pairs {
 public:
  Pairs(const release::NoisyTables& tables, std::vector<std::string> names)
      : records_(tables.records), names_(std::move(names)) {
    const auto classes = static_cast<double>(tables.classes);
    const bool labelled = names_.size() > tables.codes.size();
    for (const release::NoisyTable& table : tables.tables) {
      const auto cells = static_cast<double>(table.cells());
      if (table.columns.size() == 2) {
        add(table.columns[0], table.columns[1], cells, table.sigma * std::sqrt(classes));
      } else if (table.columns.size() == 1 && labelled) {
        add(table.columns[0], tables.codes.size(), cells * classes, table.sigma);
      }
    }
  }
  std::map<std::pair<std::string, std::string>, double> found() const {
    std::map<std::pair<std::string, std::string>, double> out;
    for (const auto& [at, counted] : best_)
      out[{names_[at.first], names_[at.second]}] = displaced(counted.cells, counted.sigma, records_);
    return out;
  }

 private:
  struct Counted {
    double cells = 0.0, sigma = 0.0;
  };
  void add(std::size_t one, std::size_t other, double cells, double sigma) {
    Counted& best = best_[{one, other}];
    if (cells > best.cells || (cells == best.cells && sigma < best.sigma)) best = {cells, sigma};
  }

  double records_;
  std::vector<std::string> names_;
  std::map<std::pair<std::size_t, std::size_t>, Counted> best_;
};

/// Of a number whose bins are learned.
NoiseAlone::Number of_number(const release::NoisyTree& tree, const schema::Column& column, double records) {
  const features::TreeErrors::Reach reach = tree.reach(column.edges);
  NoiseAlone::Number out{reach.mean, reach.area, 0.0};
  std::vector<double> cells(tree.cells());
  double before = 0;
  const std::vector<double> known = tree.distribution();
  for (std::size_t c = 0; c < cells.size(); ++c) {
    cells[c] = std::max(0.0, known[c] - before);
    before = known[c];
  }
  const std::vector<std::uint32_t> groups = groups_of(cells, cells.size());
  for (std::size_t first = 0; first < groups.size();) {
    std::size_t last = first;
    while (last < groups.size() && groups[last] == groups[first]) ++last;
    out.tvd += displaced(1.0, tree.range(first, last).sigma, records);
    first = last;
  }
  if (column.missing) out.tvd += displaced(1.0, tree.missing().sigma, records);
  out.tvd = std::min(1.0, out.tvd);
  return out;
}

}  // namespace

std::optional<NoiseAlone> noise_alone(const std::filesystem::path& release) {
  if (release.empty() || !std::filesystem::exists(release)) return std::nullopt;
  const release::Artifact a =
      release::parse_artifact(read_file(release), fmt::format("'{}'", release.string()));
  if (!a.schema.table) return std::nullopt;
  release::NoisyTables tables;
  try {
    tables = release::without_row_number(release::make_noisy_tables(a));
  } catch (const ConfigError&) {  // it counts none: other maps
    return std::nullopt;
  } catch (const ProtocolError&) {  // of another muffle
    return std::nullopt;
  }
  const schema::Table& table = *a.schema.table;
  const std::vector<std::size_t> features = table.features();
  std::vector<std::string> names = names_of_columns(schema::with_rows_not_counted(table));
  const std::vector<release::NoisyMargin> margins = release::noisy_margins(tables, a.schema);
  NoiseAlone out;
  for (std::size_t j = 0; j < margins.size() && j < names.size(); ++j) {
    if (margins[j].counts.empty()) continue;
    if (margins[j].tree) {
      out.numbers[names[j]] = of_number(*margins[j].tree, table.columns[features[j]], tables.records);
    } else {
      const std::set<std::uint32_t> groups(margins[j].group.begin(), margins[j].group.end());
      out.columns[names[j]] = displaced(static_cast<double>(groups.size()), margins[j].sigma, tables.records);
    }
  }
  out.pairs = Pairs(tables, std::move(names)).found();
  return out;
}

}  // namespace muffle::evaluate
