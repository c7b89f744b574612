#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostFindingRows = 30, kMostSeries = 24, kMostPoints = 2000;

std::string cell(const nlohmann::json& value) {
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
}

/// Shares of one column, cut where their zeros end, have as many decimals as the longest. Others stay: they
/// are told to so many significant digits. @param rows  of findings, as many as the table has
void align_shares(const nlohmann::json& rows, std::vector<std::vector<std::string>>& cells) {
  for (std::size_t column = 0;; ++column) {
    std::size_t decimals = 0;
    std::vector<std::string*> shares;
    bool there = false, all = true;
    for (std::size_t r = 0; r < cells.size(); ++r) {
      if (column >= cells[r].size()) continue;
      there = true;
      const nlohmann::json& value = rows[r][column];
      if (!value.is_number_float()) continue;
      std::string& text = cells[r][column];
      all = all && std::fabs(value.get<double>()) <= 1 && text.find('e') == std::string::npos;
      const std::size_t point = text.find('.');
      if (point != std::string::npos) decimals = std::max(decimals, text.size() - point - 1);
      shares.push_back(&text);
    }
    if (!there) return;
    if (!all || decimals == 0) continue;
    for (std::string* text : shares) {
      if (text->find('.') == std::string::npos) *text += '.';
      text->append(decimals + text->find('.') + 1 - text->size(), '0');
    }
  }
}

/// One table of metrics.json's "findings": whatever else stands there is passed over.
void add_table(const nlohmann::json& json, Page& page) {
  const auto title = json.find("title"), columns = json.find("columns"), rows = json.find("rows");
  if (title == json.end() || columns == json.end() || rows == json.end() || !rows->is_array() ||
      !columns->is_array())
    return;
  TextTable table{{cell(*title)}, {}};
  for (const nlohmann::json& column : *columns) table.header.push_back(cell(column));
  for (const nlohmann::json& row : *rows) {
    if (table.rows.size() == kMostFindingRows || !row.is_array()) break;
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (const nlohmann::json& value : row) cells.push_back(cell(value));
  }
  align_shares(*rows, table.rows);
  page.table(table);
  if (table.rows.size() < rows->size())
    page.note(fmt::format("The first {} of {} rows; metrics.json has all of them.", table.rows.size(),
                          rows->size()));
}

/// Numbers of an array, if it is one of nothing else, and not too long.
std::optional<std::vector<double>> numbers_in(const nlohmann::json& from, const char* key) {
  const auto found = from.is_object() ? from.find(key) : from.end();
  if (!from.is_object() || found == from.end() || !found->is_array() || found->empty() ||
      found->size() > kMostPoints)
    return std::nullopt;
  std::vector<double> out;
  for (const nlohmann::json& value : *found) {
    if (!value.is_number()) return std::nullopt;
    out.push_back(value.get<double>());
  }
  return out;
}

std::string text_in(const nlohmann::json& from, const char* key) {
  const auto found = from.is_object() ? from.find(key) : from.end();
  return from.is_object() && found != from.end() ? cell(*found) : std::string();
}

/// One of metrics.json's series. @returns whether it is one.
bool add_series(const nlohmann::json& json, const Rows& samples, Page& page) {
  const auto at = numbers_in(json, "at");
  if (!at || !std::is_sorted(at->begin(), at->end()) || !json.contains("lines") || !json["lines"].is_array())
    return false;
  LineChart chart;
  chart.title = text_in(json, "title");
  chart.at = *at;
  const std::string along = text_in(json, "along");
  const auto column = std::find_if(samples.columns.begin(), samples.columns.end(),
                                   [&](const Column& c) { return c.name == along && c.is_number; });
  for (const double place : *at)
    chart.ticks.push_back(column == samples.columns.end() ? fmt::format("{:.4g}", place)
                                                          : column->short_text(place));
  for (const nlohmann::json& line : json["lines"]) {
    auto values = numbers_in(line, "values");
    if (!values || values->size() != at->size()) return false;
    const std::string name = text_in(line, "name");
    chart.lines.push_back({name == "synthetic"   ? "made"
                           : name == "real test" ? "held"
                                                 : "real",
                           std::move(*values)});
    chart.description += (chart.description.empty() ? "Lines: " : ", ") + name;
  }
  page.figure(line_chart(chart), chart.title);
  return true;
}

/// The first ones of metrics.json's series.
void draw_series(const nlohmann::json& series, const Rows& samples, Page& page) {
  if (!series.is_array() || series.empty()) return;
  page.figure(colour_key(false, true, true), "");
  page.begin_grid();
  std::size_t drawn = 0;
  for (const nlohmann::json& one : series) {
    if (drawn < kMostSeries && add_series(one, samples, page)) ++drawn;
  }
  page.end_grid();
  if (drawn < series.size()) page.note(fmt::format("{} of {} curves are drawn.", drawn, series.size()));
}

/// What `muffle evaluate` found, metric by metric. @returns whether there was anything.
bool add_findings(const nlohmann::json& metrics, const Rows& samples, Page& page) {
  const auto findings = metrics.find("findings");
  if (findings == metrics.end() || !findings->is_object()) return false;
  for (const auto& [kind, found] : findings->items()) {
    if (!found.is_object()) continue;
    page.heading("muffle evaluate: " + kind);
    for (const nlohmann::json& table : found.value("tables", nlohmann::json::array())) add_table(table, page);
    for (const nlohmann::json& sentence : found.value("sentences", nlohmann::json::array()))
      page.paragraph(cell(sentence));
    draw_series(found.value("series", nlohmann::json::array()), samples, page);
  }
  return !findings->empty();
}

std::string told(const std::optional<double>& score) { return score ? fmt::format("{:.3f}", *score) : "-"; }

/// With how far it reaches either way.
std::string told(const std::optional<double>& score, const std::optional<ScoreReach>& reach,
                 double ScoreReach::*of) {
  return told(score) + (score && reach ? fmt::format(" \u00b1 {:.3f}", (*reach).*of) : "");
}

void add_scores(const TableScores& s, Page& page) {
  page.paragraph(
      "1 is the same as the real rows. The ceiling is what other real rows reach, which are held out; the "
      "floor is what knows nothing: of single columns all values that the schema allows equally often, of "
      "pairs columns that know nothing of each other, with the samples' own margins.");
  const auto row = [&](const char* name, std::optional<double> made, std::optional<double> ceiling,
                       std::optional<double> floor, double ScoreReach::*of) {
    return std::vector<std::string>{name, told(made, s.reach, of), told(ceiling, s.held_out_reach, of),
                                    told(floor)};
  };
  page.table({{"score", "synthetic", "held-out (ceiling)", "floor"},
              {row("single columns", s.shapes, s.held_out_shapes, s.even_shapes, &ScoreReach::shapes),
               row("pairs of columns", s.pairs, s.held_out_pairs, s.independent_pairs, &ScoreReach::pairs),
               row("rank correlations of numbers", s.ranks, s.held_out_ranks, s.independent_ranks,
                   &ScoreReach::ranks)}});
  page.note(
      "Single columns: 1 less Kolmogorov and Smirnov's distance of numbers, or the total variation of "
      "categories. Pairs: 1 less the total variation of joint shares (contingency), numbers in 8 bins of "
      "about equally many real rows, values that are frequent at the lower bound by themselves. Rank "
      "correlations: 1 less half the difference of Spearman's. Means over all of them. \u00b1: intervals of "
      "95 % by the chance of which rows were drawn or held out alone (none of fewer than 100), the real rows "
      "as they are; they say nothing of the release's noise.");
}

/// What another release of the same records would differ by, as far as the release tells: its noise.
void say_noise(const PublicMaterial& m, Page& page) {
  double counted = 0, learned = 0, moved = 0, displaced = 0;
  for (const ColumnDistance& d : released_distances(m)) {
    (d.known_to ? learned : counted) += 1;
    (d.known_to ? moved : displaced) += d.by_noise;
  }
  if (counted + learned <= 0) return;
  std::string said =
      "Another release of the same records would have other noise. Before the model smooths it, it ";
  if (counted > 0)
    said += fmt::format("displaces {:.2f} % of the records of a column, on average over {:.0f} with counts",
                        100 * displaced / counted, counted);
  if (learned > 0)
    said += fmt::format(
        "{}moves the share of records below some value by {:.2f} percentage points, on average "
        "over {:.0f} columns with learned bins",
        counted > 0 ? ", and " : "", 100 * moved / learned, learned);
  page.paragraph(said +
                 ". Scores of single columns differ from release to release by no more than about that.");
}

}  // namespace

void private_scores(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  if (real.scores) {
    add_scores(*real.scores, page);
    if (m.artifact().is_private) say_noise(m, page);
  }
  if (real.disclosure && !real.disclosure->inferences.empty()) {
    page.heading(m.artifact().schema.table ? "Guessing a column of held-out rows from the others"
                                           : "Guessing the class of held-out records");
    TextTable table{{"column", "learnt from synthetic rows", "from real rows (ceiling)",
                     "the most frequent value (floor)"},
                    {}};
    for (const Inference& i : real.disclosure->inferences)
      table.rows.push_back({m.samples->columns[i.column].name, fmt::format("{:.3f}", i.of_held_out.value),
                            fmt::format("{:.3f}", i.by_real), fmt::format("{:.3f}", i.by_majority)});
    page.table(table);
    std::string nothing;
    for (const Inference& i : real.disclosure->inferences) {
      if (i.by_real <= i.by_majority)
        nothing += (nothing.empty() ? "" : ", ") + m.samples->columns[i.column].name;
    }
    page.note(fmt::format(
        "Share of right guesses, by the {} nearest records.{}", kNeighbours,
        nothing.empty() ? "" : " Not even from real ones is anything learnt so of: " + nothing + "."));
  }
  if (real.metrics.is_object() && add_findings(real.metrics, *m.samples, page)) return;
  page.note(real.metrics_are_others
                ? "metrics.json is of other samples, so its scores are left out: `muffle evaluate` makes new "
                  "ones."
                : "There is no metrics.json of these samples: `muffle evaluate` makes one, with classifiers "
                  "and more.");
}

}  // namespace muffle::report
