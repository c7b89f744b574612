#include "pairs_outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "muffle/features/tree_errors.hpp"

namespace muffle::features {
namespace {

struct Joint {
  double drowned;  ///< noise in a cell over the records in it, were all values and classes equally frequent
  const CountTable* table;
};
/// Of two columns and more, those that drown most first.
std::vector<Joint> joints_of(const CountTables& all, double noise) {
  std::vector<Joint> out;
  for (const CountTable& table : all.tables) {
    if (table.columns.size() > 1)
      out.push_back(
          {noise * std::sqrt(all.sum_of_squares()) / table.weight * static_cast<double>(table.cells),
           &table});
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &Joint::drowned);
  return out;
}

std::string name_of(const CountTable& table, const std::vector<std::string>& names) {
  std::string out;
  for (const std::size_t j : table.columns) out += (out.empty() ? "" : " x ") + names[j];
  return out;
}

/// Of numbers whose bins are learned. @param noise  over the records of a class  @param records  of a class
std::string outlook_of_trees(const CountTables& all, const std::vector<std::string>& names,
                             std::size_t classes, double noise, double records) {
  const double root = std::sqrt(all.sum_of_squares()), of_all = records * static_cast<double>(classes);
  std::map<std::pair<std::size_t, double>, double> found;  // many columns have the same grid
  double most_noise = 0.0, sum = 0.0, farthest = -1.0;
  std::size_t numbers = 0, widest = 0;
  std::string farthest_name;
  for (std::size_t j = 0; j < all.grid_cells.size(); ++j) {
    const std::size_t cells = all.grid_cells[j];
    const auto table = std::ranges::find(all.tables, std::vector{j}, &CountTable::columns);
    if (cells == 0 || table == all.tables.end()) continue;
    const double sigma = noise * root / table->weight * records;
    const auto [place, is_new] = found.try_emplace({cells, sigma}, 0.0);
    if (is_new) {
      std::vector<double> even(cells);
      for (std::size_t c = 0; c < cells; ++c)
        even[c] = static_cast<double>(c + 1) / static_cast<double>(cells);
      place->second = TreeErrors::before_counting(cells, sigma * std::sqrt(static_cast<double>(classes)))
                          .reach(of_all, even)
                          .mean;
    }
    most_noise = std::max(most_noise, sigma);
    widest = std::max(widest, cells);
    sum += place->second;
    ++numbers;
    if (place->second > farthest) farthest = place->second, farthest_name = names[j];
  }
  return fmt::format(
      "learns the bins of {} over public grids of up to {} cells, with noise of up to {:.3g} records in each "
      "count of their trees; that noise alone puts {} (Kolmogorov-Smirnov distance; samples come nearer){}",
      numbers == 1 ? "1 number" : fmt::format("{} numbers", numbers), widest, most_noise,
      numbers == 1
          ? fmt::format("its distribution {:.2g} from the records' where it is farthest", sum)
          : fmt::format("their distributions {:.2g} from the records' where they are farthest, on average",
                        sum / static_cast<double>(numbers)),
      numbers == 1 ? "" : fmt::format("; most of all {}, {:.2g}", farthest_name, farthest));
}

}  // namespace

std::vector<std::string> drowned_of(const CountTables& all, const std::vector<std::string>& names,
                                    double noise) {
  std::vector<std::string> out;
  for (const Joint& joint : joints_of(all, noise)) {
    if (joint.drowned > 1.0) out.push_back(name_of(*joint.table, names));
  }
  return out;
}

std::string outlook_of(const CountTables& all, const std::vector<std::string>& names, std::size_t classes,
                       double noise, double records) {
  const double root = std::sqrt(all.sum_of_squares());
  double single = 0.0, least = 1e300, most = 0.0;
  const std::vector<Joint> joints = joints_of(all, noise);
  std::vector<double> shown;  // of each pair: the correlation from which it shows
  for (const CountTable& table : all.tables) {
    const double sigma = noise * root / table.weight;  // over the records of a class
    if (table.columns.size() == 1) {
      single = std::max(single, sigma);
      continue;
    }
    least = std::min(least, sigma), most = std::max(most, sigma);
    if (table.columns.size() > 2) continue;
    // Of all classes together: a table whose values are equally frequent and whose only singular value beside
    // the margins' is r has r m / sqrt(k l) there, noise up to sigma (sqrt(k) + sqrt(l)).
    const auto k = static_cast<double>(table.size(0, all.codes)),
               l = static_cast<double>(table.size(1, all.codes));
    shown.push_back(sigma / std::sqrt(static_cast<double>(classes)) * (std::sqrt(k) + std::sqrt(l)) *
                    std::sqrt(k * l));
  }
  if (joints.empty() && all.learns()) return outlook_of_trees(all, names, classes, noise, records);
  if (joints.empty())
    return fmt::format("noise of up to {:.3g} records in every cell of single columns", single * records);
  // A table drowns where more noise is in a cell than records, on average.
  const auto drowned = [&](double noise_left, double bins_left) {
    return std::ranges::count_if(joints, [&](const Joint& joint) {
      const auto columns = static_cast<double>(joint.table->columns.size());
      return joint.drowned * noise_left * std::pow(bins_left, columns) > 1.0;
    });
  };
  std::string out =
      fmt::format("noise of {:.3g}{} records in every cell of {} {}{}", least * records,
                  most > 1.001 * least ? fmt::format(" to {:.3g}", most * records) : "", joints.size(),
                  shown.size() == joints.size() ? "pairs" : "pairs and triples",
                  single > 0.0 ? fmt::format(", {:.3g} of single columns", single * records) : "");
  if (shown.size() < joints.size())
    out += "; a generator takes no more from a triple than its pairs: triples are for readers of the tables";
  if (!shown.empty()) {
    const auto middle = shown.begin() + static_cast<std::ptrdiff_t>(shown.size() / 2);
    std::ranges::nth_element(shown, middle);
    out += *middle < 1.0
               ? fmt::format("; in half of the pairs correlations show from about {:.2g} on", *middle)
               : "; in half of the pairs no correlation shows";
  }
  const auto count = drowned(1.0, 1.0);
  if (count == 0) return out + "; no table drowns: on average cells hold more records than noise";
  out += fmt::format("; {}: on average {} cells hold more noise than records",
                     count == 1 ? "1 table drowns" : fmt::format("{} tables drown", count),
                     count == 1 ? "its" : "their");
  for (std::size_t i = 0; i < std::min<std::size_t>(static_cast<std::size_t>(count), 3); ++i)
    out += (i == 0 ? " (" : ", ") + name_of(*joints[i].table, names);
  return out +
         fmt::format(
             "{}); twice the epsilon would leave {} of them, half the bins or categories of every column {}",
             count > 3 ? ", ..." : "", drowned(0.5, 1.0), drowned(1.0, 0.5));
}

}  // namespace muffle::features
