#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.hpp"
#include "follows.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostMapped = 30, kMostPairsListed = 40;

/// V of all pairs: n x n.
struct Map {
  std::size_t n = 0;
  std::vector<double> v;
};

Map map_of(const Rows& rows, const std::vector<Bins>& bins) {
  const PairCodes codes = pair_codes(rows, bins);
  Map out{bins.size(), std::vector<double>(bins.size() * bins.size(), 0.0)};
  for (std::size_t a = 0; a < out.n; ++a) {
    for (std::size_t b = a + 1; b < out.n; ++b) {
      out.v[a * out.n + b] = out.v[b * out.n + a] = cramers_v(
          joint_shares(codes, a, b), codes.sizes[a], codes.sizes[b], static_cast<double>(codes.of[a].size()));
    }
  }
  return out;
}

/// The columns that are drawn: those of the strongest associations, in the table's order.
std::vector<std::size_t> drawn(const Map& map) {
  std::vector<std::pair<double, std::size_t>> strongest;
  for (std::size_t j = 0; j < map.n; ++j) {
    const auto row = map.v.begin() + static_cast<std::ptrdiff_t>(j * map.n);
    strongest.emplace_back(-*std::max_element(row, row + static_cast<std::ptrdiff_t>(map.n)), j);
  }
  std::sort(strongest.begin(), strongest.end());
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < std::min(strongest.size(), kMostMapped); ++k)
    out.push_back(strongest[k].second);
  std::sort(out.begin(), out.end());
  return out;
}

std::string drawing(const Rows& rows, const std::vector<std::size_t>& columns, std::size_t n,
                    const std::vector<double>& lower, const std::vector<double>& upper, const char* title) {
  HeatMap map;
  map.title = title;
  map.description = "Each square is a pair of columns: the darker, the closer to 1.";
  for (const std::size_t i : columns) {
    map.names.push_back(rows.columns[i].name);
    for (const std::size_t j : columns) {
      map.lower.push_back(lower[i * n + j]);
      map.upper.push_back(upper[i * n + j]);
    }
  }
  return heat_map(map);
}

void say_bounds(std::size_t all, std::size_t looked_at, std::size_t mapped, Page& page) {
  if (looked_at < all)
    page.note(fmt::format("Of {} columns the first {} were looked at in pairs.", all, looked_at));
  if (mapped < looked_at)
    page.note(fmt::format("Drawn: the {} columns with the strongest associations.", mapped));
}

TextTable list_of(const Rows& rows, const std::vector<TableScores::Pair>& pairs) {
  TextTable table{{"column", "column", "distance", "V real", "V synthetic", "rank real", "rank synthetic"},
                  {}};
  const auto rank = [](const std::optional<double>& r) { return r ? fmt::format("{:.2f}", *r) : "-"; };
  for (std::size_t k = 0; k < std::min(pairs.size(), kMostPairsListed); ++k) {
    const TableScores::Pair& p = pairs[k];
    table.rows.push_back({rows.columns[p.a].name, rows.columns[p.b].name, fmt::format("{:.3f}", p.apart),
                          fmt::format("{:.2f}", p.v_real), fmt::format("{:.2f}", p.v_made), rank(p.rank_real),
                          rank(p.rank_made)});
  }
  return table;
}

}  // namespace

void public_pairs(const PublicMaterial& m, Page& page) {
  const Rows& rows = *m.samples;
  std::vector<Bins> bins;
  for (std::size_t j = 0; j < std::min(rows.columns.size(), kMostPairColumns); ++j)
    bins.push_back(Bins::to_pair(rows.columns[j], rows.values[j]));
  const Map map = map_of(rows, bins);
  const std::vector<std::size_t> columns = drawn(map);
  page.paragraph(
      "Which columns go together in the synthetic rows: Cramer's V of their values (numbers in 8 bins of "
      "about equally many rows, of categories the 16 most frequent), 0 where one column says nothing of the "
      "other, 1 where each decides the other. Weak "
      "associations of the real data drown in the release's noise first: that none is shown here does not "
      "say that there is none.");
  page.figure(drawing(rows, columns, map.n, map.v, map.v, "Associations of the synthetic rows"),
              "Cramer's V of the synthetic rows.");
  say_bounds(rows.columns.size(), map.n, columns.size(), page);
  std::vector<std::pair<double, std::pair<std::size_t, std::size_t>>> all;
  for (std::size_t a = 0; a < map.n; ++a) {
    for (std::size_t b = a + 1; b < map.n; ++b) all.push_back({-map.v[a * map.n + b], {a, b}});
  }
  std::sort(all.begin(), all.end());
  TextTable table{{"column", "column", "Cramer's V"}, {}};
  for (std::size_t k = 0; k < std::min(all.size(), kMostPairsListed); ++k)
    table.rows.push_back({rows.columns[all[k].second.first].name, rows.columns[all[k].second.second].name,
                          fmt::format("{:.2f}", -all[k].first)});
  page.heading("The strongest");
  page.table(table);
}

void private_pairs(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  const Rows& rows = *m.samples;
  const std::vector<TableScores::Pair>& all = real.scores->all;
  Map truth{std::min(rows.columns.size(), kMostPairColumns), {}};
  truth.v.assign(truth.n * truth.n, 0.0);
  std::vector<double> made = truth.v, error = truth.v;
  const auto both = [&](std::vector<double>& into, const TableScores::Pair& p, double value) {
    into[p.a * truth.n + p.b] = into[p.b * truth.n + p.a] = value;
  };
  for (const TableScores::Pair& p : all) {
    both(truth.v, p, p.v_real);
    both(made, p, p.v_made);
    both(error, p, p.apart);
  }
  const std::vector<std::size_t> columns = drawn(truth);
  page.paragraph(
      "Cramer's V of every two columns, in few bins: below the diagonal of the synthetic rows, above it of "
      "the real ones. "
      "A pair that is dark above and pale below was lost.");
  page.figure(drawing(rows, columns, truth.n, made, truth.v, "Associations of synthetic and real rows"),
              "Below: synthetic. Above: real.");
  page.figure(drawing(rows, columns, truth.n, error, error, "How far pairs are from the real rows"),
              "Total variation of each pair's joint shares: 0 the same.");
  say_bounds(rows.columns.size(), truth.n, columns.size(), page);
  std::vector<TableScores::Pair> lost = all;
  std::stable_sort(lost.begin(), lost.end(), [](const auto& x, const auto& y) {
    return std::fabs(x.v_real - x.v_made) > std::fabs(y.v_real - y.v_made);
  });
  page.heading("Lost or invented: by the difference of V");
  page.table(list_of(rows, lost));
  for (const std::string& lost_rule : lost_dependencies(real.real, rows, lost)) page.note(lost_rule);
  page.heading("The farthest: by the distance of joint shares");
  page.table(list_of(rows, all));
  page.note(
      "Distance: total variation, which one badly known column fills. Rank: Spearman's rank correlation of "
      "two numbers, -1 to 1.");
}

}  // namespace muffle::report
