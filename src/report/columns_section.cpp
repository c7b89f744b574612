#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bins.hpp"
#include "charts.hpp"
#include "distances.hpp"
#include "number_table.hpp"
#include "rules.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostCharts = 80, kMostListed = 500, kMostClasses = 20;
/// Of a chart with real rows: fine enough to see what lies within the bins that a release counts.
constexpr std::size_t kFineBins = 60;
/// From real rows: above it, and above twice what is seen between the bins that were counted, it is within
/// them.
constexpr double kFar = 0.03;
constexpr double kTwoSided95 = 1.96;

/// Of column j: the chart, with real rows over it if there are any.
std::string chart_of(const PublicMaterial& m, const PrivateMaterial* real, std::size_t j) {
  const Column& column = m.samples->columns[j];
  const bool told = j < m.noisy.size() && m.records;
  const bool fine = real != nullptr && column.is_number;
  const Bins bins = fine ? Bins::to_draw(column, m.samples->values[j], nullptr, kFineBins)
                         : Bins::to_draw(column, m.samples->values[j], told ? &m.noisy[j] : nullptr);
  BarChart chart;
  chart.title = column.name;
  chart.labels = bins.labels();
  chart.ticks = bins.ticks();
  chart.bars = bins.shares(m.samples->values[j]);
  if (told && fine) {
    for (const auto& bin : bins.spread(m.noisy[j], *m.records))
      chart.band.emplace_back(
          std::pair(bin.share - kTwoSided95 * bin.sigma, bin.share + kTwoSided95 * bin.sigma));
  } else if (told) {
    for (const auto& bin : bins.released(m.noisy[j], *m.records).of) {
      chart.band.emplace_back();
      if (bin)
        chart.band.back() = {bin->share - kTwoSided95 * bin->sigma, bin->share + kTwoSided95 * bin->sigma};
    }
  }
  if (real != nullptr) {
    chart.real = bins.shares(real->real.values[j]);
    if (real->held_out) chart.held_out = bins.shares(real->held_out->values[j]);
  }
  chart.description = fmt::format("Shares of {} bins of the column {}.", bins.count(), column.name);
  return bar_chart(chart);
}

/// The share of a column's values that are missing.
std::string missing_share(const Rows& rows, std::size_t j) {
  if (!rows.columns[j].may_be_missing) return "-";
  const auto missing =
      std::count_if(rows.values[j].begin(), rows.values[j].end(), [](double v) { return std::isnan(v); });
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(missing) / static_cast<double>(rows.size()));
}

void draw(const PublicMaterial& m, const PrivateMaterial* real, const std::vector<std::size_t>& order,
          Page& page) {
  if (order.size() > kMostCharts)
    page.paragraph(fmt::format("The {} farthest of {} columns are drawn.", kMostCharts, order.size()));
  page.begin_grid();
  for (std::size_t k = 0; k < std::min(order.size(), kMostCharts); ++k) {
    const Column& column = m.samples->columns[order[k]];
    const std::string unit = column.schema && !column.schema->unit.empty() ? ", " + column.schema->unit : "";
    page.figure(chart_of(m, real, order[k]), column.name + unit + (column.is_label ? " (the label)" : ""));
  }
  page.end_grid();
}

void say_what_follows(const PublicMaterial& m, Page& page) {
  std::string follow;
  for (const Column& column : m.samples->columns) {
    if (column.follows) follow += (follow.empty() ? "" : ", ") + column.name;
  }
  if (!follow.empty())
    page.note(
        "Computed from other columns of their row, so that the release says nothing of them by itself: " +
        follow + ".");
}

void add_numbers(const Rows& samples, const Rows* real, Page& page) {
  const TextTable table = number_table(samples, real);
  if (table.rows.empty()) return;
  page.heading("Numbers");
  page.table(table);
}

/// Whether the rare label's rows are as good as the frequent one's.
void by_class(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  const std::vector<Column>& columns = m.samples->columns;
  const auto at = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.is_label; });
  if (at == columns.end() || at->categories.size() < 2 || at->categories.size() > kMostClasses) return;
  const Column& label = *at;
  TextTable table{{"class", "share of real rows", "of synthetic rows", "columns from real ones, mean",
                   "of held-out rows"},
                  {}};
  for (std::size_t c = 0; c < label.categories.size(); ++c) {
    const auto own = static_cast<std::int32_t>(c);
    const Rows made = rows_of_class(*m.samples, own), truth = rows_of_class(real.real, own);
    const auto share = [](const Rows& part, const Rows& all) {
      return fmt::format("{:.2f} %",
                         100.0 * static_cast<double>(part.size()) / static_cast<double>(all.size()));
    };
    const auto mean = [&](const Rows& rows) -> std::string {
      if (rows.size() == 0 || truth.size() == 0) return "-";
      double sum = 0;
      const std::vector<Shape> shapes = shapes_of(truth, rows);
      for (std::size_t j = 0; j < shapes.size(); ++j) sum += columns[j].is_label ? 0.0 : shapes[j].distance;
      return fmt::format("{:.3f}", sum / std::max(1.0, static_cast<double>(shapes.size() - 1)));
    };
    table.rows.push_back({label.categories[c], share(truth, real.real), share(made, *m.samples), mean(made),
                          real.held_out ? mean(rows_of_class(*real.held_out, own)) : "-"});
  }
  page.heading("Class by class");
  page.table(table);
  page.note(
      "Distance of each column as above, among the rows of the class alone: few rows lie farther by chance.");
}

/// How many rows break the schema's rules. Real ones may: the schema speaks of synthetic ones.
void rules_beside(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  const auto& schema = *m.artifact().schema.table;
  if (real.real.breaks.empty() || m.samples->breaks.empty()) return;
  const auto share = [](const Rows& rows, std::size_t broken) {
    return fmt::format("{} of {} ({:.2f} %)", broken, rows.size(),
                       100.0 * static_cast<double>(broken) / static_cast<double>(rows.size()));
  };
  TextTable table{{"rule of the schema", "broken by real rows", "by held-out rows", "by synthetic rows"}, {}};
  const std::vector<std::string> rules = rules_of(schema);
  for (std::size_t k = 0; k < std::min(rules.size(), kMostListed); ++k)
    table.rows.push_back({rules[k], share(real.real, real.real.breaks[k]),
                          real.held_out ? share(*real.held_out, real.held_out->breaks[k]) : "-",
                          share(*m.samples, m.samples->breaks[k])});
  page.heading("Rules");
  page.table(table);
}

/// Where a release has no counts.
void missing_shares(const Rows& samples, Page& page) {
  TextTable table{{"column", "missing (samples)"}, {}};
  for (std::size_t j = 0; j < samples.columns.size() && table.rows.size() < kMostListed; ++j) {
    if (samples.columns[j].may_be_missing)
      table.rows.push_back({samples.columns[j].name, missing_share(samples, j)});
  }
  if (!table.rows.empty()) page.table(table);
}

/// Of values that have learned bins.
ColumnDistance by_function(std::size_t j, const release::NoisyTree& tree, const schema::Column& column,
                           const std::vector<double>& values) {
  std::vector<double> there;
  std::copy_if(values.begin(), values.end(), std::back_inserter(there),
               [](double v) { return !std::isnan(v); });
  std::sort(there.begin(), there.end());
  const features::TreeErrors::Reach reach = tree.reach();
  ColumnDistance out{j, 0.0, reach.mean, reach.most};
  const std::vector<double> known = tree.distribution();
  for (std::size_t cell = 0; cell + 1 < known.size(); ++cell) {  // at the last one both are 1
    const auto below = std::lower_bound(there.begin(), there.end(), column.edges[cell + 1]) - there.begin();
    const double share = there.empty() ? 0.0 : static_cast<double>(below) / static_cast<double>(there.size());
    out.distance = std::max(out.distance, std::fabs(share - known[cell]));
  }
  out.distance = std::min(out.distance, 1.0);
  return out;
}

/// How far samples lie from the release's counts, and what its noise makes of that.
void beside_noise(const PublicMaterial& m, const std::vector<ColumnDistance>& distances, Page& page) {
  const bool any_learned =
      std::ranges::any_of(distances, [](const ColumnDistance& d) { return d.known_to.has_value(); });
  TextTable table{{"column", "samples from the release", "of which the noise alone makes"}, {}};
  if (any_learned) table.header.emplace_back("known to");
  table.header.emplace_back("missing (samples)");
  for (const ColumnDistance& d : distances) {
    if (table.rows.size() == kMostListed) break;
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {m.samples->columns[d.column].name, fmt::format("{:.3f}", d.distance),
           fmt::format("{:.3f}", d.by_noise)};
    if (any_learned) row.push_back(d.known_to ? fmt::format("{:.3f}", *d.known_to) : "-");
    row.push_back(missing_share(*m.samples, d.column));
  }
  for (std::size_t j = 0; j < m.samples->columns.size() && table.rows.size() < kMostListed; ++j) {
    if (!m.samples->columns[j].may_be_missing ||
        std::ranges::find(distances, j, &ColumnDistance::column) != distances.end())
      continue;
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {m.samples->columns[j].name, "-", "-"};
    if (any_learned) row.emplace_back("-");
    row.push_back(missing_share(*m.samples, j));
  }
  page.table(table);
  const std::string_view learned =
      "Of columns with learned bins, which have a number under 'known to', the farthest difference of the "
      "distribution functions (Kolmogorov and Smirnov's): the release counts a tree of ranges, whose levels "
      "together tell the share of records below any value. 'Known to': in 95 of 100 releases its noise moves "
      "that share by no more, wherever one looks. ";
  page.note(fmt::format("Total variation: 0 the same, 1 nothing in common. {}The farthest first.",
                        any_learned ? learned : std::string_view()));
}

}  // namespace

std::vector<ColumnDistance> released_distances(const PublicMaterial& m) {
  std::vector<ColumnDistance> out;
  if (!m.samples || !m.records) return out;
  for (std::size_t j = 0; j < m.noisy.size(); ++j) {
    if (m.noisy[j].counts.empty()) continue;
    if (m.noisy[j].tree) {
      out.push_back(by_function(j, *m.noisy[j].tree, *m.samples->columns[j].schema, m.samples->values[j]));
      continue;
    }
    const Bins bins = Bins::to_draw(m.samples->columns[j], m.samples->values[j], &m.noisy[j]);
    const std::vector<double> made = bins.shares(m.samples->values[j]);
    const Bins::Released released = bins.released(m.noisy[j], *m.records);
    ColumnDistance one{j, 0.0, 0.0};
    const auto add = [&](double share, const Bins::Released::Share& said) {
      one.distance += std::fabs(share - said.share) / 2;
      one.by_noise += said.sigma / std::sqrt(2 * std::numbers::pi);
    };
    double rest = 0;
    for (std::size_t b = 0; b < made.size() && b < released.of.size(); ++b) {
      if (released.of[b]) {
        add(made[b], *released.of[b]);
      } else {
        rest += made[b];
      }
    }
    if (released.rest) add(rest, *released.rest);
    one.distance = std::min(one.distance, 1.0);
    one.by_noise = std::min(one.by_noise, 1.0);
    out.push_back(one);
  }
  return out;
}

void public_columns(const PublicMaterial& m, Page& page) {
  std::vector<std::size_t> order(m.samples->columns.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::vector<ColumnDistance> distances = released_distances(m);
  std::stable_sort(distances.begin(), distances.end(),
                   [](const auto& a, const auto& b) { return a.distance > b.distance; });
  page.paragraph(
      distances.empty()
          ? "What synthetic rows have in each column, on its own values. The release holds no counts of "
            "these columns, so its noise cannot be drawn beside them."
          : "What synthetic rows have in each column, on its own values, and what the release says of the "
            "same bins: the band holds the true share in 95 of 100 cases. Numbers are cut where the "
            "release's counts are, learned bins are joined until they hold more than noise, and what has a "
            "part only of a count has no band. A band as high as the chart says that noise is all there "
            "is; a bar far outside of its band says that the model departs from the release.");
  if (!distances.empty()) {
    beside_noise(m, distances, page);
    if (m.artifact().adjacency == privacy::Adjacency::kAddRemoveOne)
      page.note(
          "Shares are of the number of records that the release's noisy counts say; the noise of that number "
          "is left out of the bands.");
    std::vector<std::size_t> farthest;
    for (const ColumnDistance& d : distances) farthest.push_back(d.column);
    for (const std::size_t j : order) {
      if (std::find(farthest.begin(), farthest.end(), j) == farthest.end()) farthest.push_back(j);
    }
    order = farthest;
  }
  if (distances.empty()) missing_shares(*m.samples, page);
  add_numbers(*m.samples, nullptr, page);
  if (m.people) add_people(*m.people, {}, {}, page);
  say_what_follows(m, page);
  page.figure(colour_key(!distances.empty(), false, false), "");
  draw(m, nullptr, order, page);
}

void private_columns(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  page.paragraph(
      "Synthetic and real rows, on the columns' own values. Numbers are drawn in finer bins than the "
      "release counts, so that what lies within these is seen, too. The band is what the release itself "
      "says: it holds a category's true share in 95 of 100 cases. Of numbers a count of several bars is "
      "spread evenly over them, as the release does not tell them apart.");
  const std::vector<Shape> shapes = shapes_of(real.real, *m.samples),
                           beside =
                               real.held_out ? shapes_of(real.real, *real.held_out) : std::vector<Shape>();
  std::vector<std::size_t> order(shapes.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shapes[a].distance > shapes[b].distance; });
  TextTable table{{"column", "distance from real rows", "at the ends of counted bins", "of held-out rows",
                   "Wasserstein, of the bounds", "missing: real", "synthetic"},
                  {}};
  std::string within;
  for (const std::size_t j : order) {
    if (table.rows.size() == kMostListed) break;
    const Column& column = m.samples->columns[j];
    const bool counted = column.is_number && j < m.noisy.size() && !m.noisy[j].counts.empty();
    const double between = counted ? distance_at(real.real.values[j], m.samples->values[j],
                                                 counted_cuts(*column.schema, m.noisy[j]))
                                   : 0.0;
    if (counted && shapes[j].distance > std::max(kFar, 2 * between))
      within +=
          (within.empty() ? "" : ", ") + column.name + (column.schema->learned ? "" : " (bins by hand)");
    table.rows.push_back({column.name, fmt::format("{:.3f}", shapes[j].distance),
                          counted ? fmt::format("{:.3f}", between) : "-",
                          beside.empty() ? "-" : fmt::format("{:.3f}", beside[j].distance),
                          column.is_number ? fmt::format("{:.4f}", shapes[j].wasserstein) : "-",
                          missing_share(real.real, j), missing_share(*m.samples, j)});
  }
  page.table(table);
  page.note(
      "Distance: of numbers Kolmogorov and Smirnov's, on raw values without the missing ones; of categories "
      "total variation. "
      "The farthest first.");
  if (!within.empty())
    page.note(
        "Within bins that the release counted as one, where it cannot tell values apart, lies most of the "
        "distance of: " +
        within +
        ". Bins that muffle learns (no `bins` in the schema) are as fine as the "
        "noise allows.");
  add_numbers(*m.samples, &real.real, page);
  if (m.people) add_people(*m.people, real.people, real.held_out_people, page);
  rules_beside(m, real, page);
  by_class(m, real, page);
  say_what_follows(m, page);
  page.figure(colour_key(!m.noisy.empty(), true, real.held_out.has_value()), "");
  draw(m, &real, order, page);
}

}  // namespace muffle::report
