#include <fmt/format.h>

#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostScores = 400;

/// Numbers of metrics.json, by their names, as `muffle evaluate` wrote them.
void add_scores(const nlohmann::json& json, const std::string& name, TextTable& table) {
  for (const auto& [key, value] : json.items()) {
    if (table.rows.size() >= kMostScores) return;
    const std::string full = name.empty() ? key : name + " / " + key;
    if (value.is_object()) {
      if (key != "columns" && key != "pairs")
        add_scores(value, full, table);  // they have sections of their own
    } else if (value.is_number() && key != "version" && key != "seed" && key != "sets") {
      table.rows.push_back({full, fmt::format("{:.4g}", value.get<double>())});
    } else if (value.is_string() && key == "warning") {
      continue;
    }
  }
}

std::string optional(const std::optional<double>& score) {
  return score ? fmt::format("{:.3f}", *score) : "-";
}

}  // namespace

void private_scores(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  if (real.scores) {
    const TableScores& s = *real.scores;
    page.paragraph(
        "1 is the same as the real rows. The ceiling is what other real rows reach, which are held out; the "
        "floor is "
        "columns that know nothing of each other, with the samples' own margins.");
    page.table({{"score", "synthetic", "held-out (ceiling)", "independent (floor)"},
                {{"single columns", fmt::format("{:.3f}", s.shapes), optional(s.held_out_shapes), "-"},
                 {"pairs of columns", fmt::format("{:.3f}", s.pairs), optional(s.held_out_pairs),
                  fmt::format("{:.3f}", s.independent_pairs)}}});
    page.note(
        "Single columns: 1 less Kolmogorov and Smirnov's distance of numbers, or the total variation of "
        "categories. Pairs: 1 less the total "
        "variation of joint shares, in few bins. Means over all of them.");
  }
  if (real.disclosure && !real.disclosure->inferences.empty()) {
    page.heading("Guessing a column of held-out rows from the others");
    TextTable table{{"column", "learnt from synthetic rows", "from real rows (ceiling)",
                     "the most frequent value (floor)"},
                    {}};
    for (const Inference& i : real.disclosure->inferences)
      table.rows.push_back({m.samples->columns[i.column].name, fmt::format("{:.3f}", i.of_held_out.value),
                            fmt::format("{:.3f}", i.by_real), fmt::format("{:.3f}", i.by_majority)});
    page.table(table);
    page.note(fmt::format("Share of right guesses, by the {} nearest rows.", kNeighbours));
  }
  if (real.metrics.is_object()) {
    TextTable table{{"of muffle evaluate", "score"}, {}};
    add_scores(real.metrics, "", table);
    if (table.rows.empty()) return;
    page.heading("metrics.json");
    page.table(table);
  } else {
    page.note(
        real.metrics_are_others
            ? "metrics.json is of other samples, so its scores are left out: `muffle evaluate` makes new "
              "ones."
            : "There is no metrics.json of these samples: `muffle evaluate` makes one, with classifiers "
              "and more.");
  }
}

}  // namespace muffle::report
