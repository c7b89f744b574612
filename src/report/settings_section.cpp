#include <fmt/format.h>

#include <algorithm>

#include "charts.hpp"
#include "guarantee.hpp"
#include "muffle/schema/key_text.hpp"
#include "rules.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostColumnsListed = 500, kMostValuesListed = 8;

std::string holds(const schema::Column& column) {
  if (column.is_person())
    return column.rows == 0 ? "whose row it is: never released"
                            : fmt::format(
                                  "whose row it is: never released, but how many people have 1, 2, .. {} "
                                  "rows; samples have made-up people",
                                  column.rows);
  if (column.type == schema::ColumnType::kIgnore) return "never read";
  if (column.type == schema::ColumnType::kKey) {
    std::string first;
    schema::KeyText(column).write(1, first);
    return fmt::format("never read; samples have fresh keys: {}, ...", first);
  }
  if (column.follows()) return "follows from other columns of the row, as said below";
  if (column.is_number()) {
    const Column text = column_of(column);
    const schema::DateBounds bounds = column.apart.value_or(schema::DateBounds{column.lo, column.hi});
    return fmt::format(
        "{} .. {}{}{}", text.text(bounds.lo), text.text(bounds.hi),
        column.since ? " after another date of the row" : "",
        column.learned ? ", bins learnt from the noisy numbers" : fmt::format(", {} bins", column.bins()));
  }
  std::string out;
  for (std::size_t v = 0; v < std::min(column.values.size(), kMostValuesListed); ++v)
    out += (v > 0 ? ", " : "") + column.values[v].name;
  if (column.values.size() > kMostValuesListed)
    out += fmt::format(" and {} more", column.values.size() - kMostValuesListed);
  return out;
}

void schema_table(const schema::Table& schema, Page& page) {
  TextTable table{{"column", "type", "holds", "may be missing", "unit"}, {}};
  for (const schema::Column& column : schema.columns) {
    if (table.rows.size() == kMostColumnsListed) break;
    table.rows.push_back({column.name + (column.is_label() ? " (label)" : ""),
                          std::string(schema::type_name(column.type)), holds(column),
                          column.missing ? "yes" : "", column.unit});
  }
  page.table(table);
  if (schema.columns.size() > kMostColumnsListed)
    page.note(fmt::format("The first {} of {} columns.", kMostColumnsListed, schema.columns.size()));
  std::string lists;
  for (const schema::Column& column : schema.columns) {
    if (column.type == schema::ColumnType::kIgnore || column.is_person() ||
        column.values.size() <= kMostValuesListed)
      continue;
    lists += column.name + ":";
    for (const schema::Category& value : column.values) lists += " " + value.name + ";";
    lists += "\n";
  }
  if (!lists.empty()) page.folded("All categories of the longer lists", lists);
  std::vector<std::string> rules = rules_of(schema);
  for (std::string& one : made_so(schema)) rules.push_back(std::move(one));
  if (rules.empty()) return;
  page.heading("What holds in every synthetic row, by the schema");
  page.list(rules);
}

void maps_table(const release::Artifact& a, Page& page) {
  TextTable table{{"map", "kind", "round", "numbers", "weight"}, {}};
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    const features::NamedMap& map = a.maps[b];
    table.rows.push_back({map.name, std::string(map.map->kind()), std::to_string(map.round),
                          std::to_string(a.features(b) * a.rows(b)), fmt::format("{:.4g}", map.weight)});
  }
  page.table(table);
}

void ledger_and_signature(const PublicMaterial& m, Page& page) {
  const release::Verification& v = m.verification;
  const release::Artifact& a = m.artifact();
  TextTable facts{{}, {}};
  facts.rows.push_back({"release (SHA-256)", m.release_hash});
  facts.rows.push_back({"signed by", v.signature
                                         ? fmt::format("claims to be '{}', unchecked; key {}",
                                                       v.signature->signer, crypto::to_hex(v.signature->key))
                                         : "nobody"});
  if (a.round) {
    for (const release::RoundRecord::Site& site : a.round->sites)
      facts.rows.push_back({"ledger of site " + site.name,
                            fmt::format("data set '{}', charge {}", site.data_id, site.charge)});
  } else {
    facts.rows.push_back({"ledger of data set", a.data_id.empty() ? "none" : a.data_id});
  }
  if (!a.ledger_charge.empty()) facts.rows.push_back({"its charge", a.ledger_charge});
  facts.rows.push_back({"spent in all", spent_in_all(m)});
  facts.rows.push_back({"made by", "muffle " + a.muffle_version});
  page.table(facts);
  TextTable checks{{"check", "outcome", "detail"}, {}};
  constexpr const char* kOutcomes[] = {"passed", "FAILED", "skipped"};
  for (const release::Check& check : v.checks)
    checks.rows.push_back({check.name, kOutcomes[static_cast<std::size_t>(check.outcome)], check.detail});
  page.table(checks);
}

std::string chart_of(const char* title, const std::vector<model::TrainingCurve::Point>& points) {
  LineChart chart{title, fmt::format("{}, by the steps of the training", title), {}, {}, {}};
  LineChart::Line line{"made", {}};
  bool positive = true;
  for (const model::TrainingCurve::Point& point : points) {
    chart.at.push_back(static_cast<double>(point.step));
    chart.ticks.push_back(std::to_string(point.step));
    line.values.push_back(point.value);
    positive = positive && point.value > 0;
  }
  chart.axis = positive ? LineChart::Axis::kLogarithmic : LineChart::Axis::kLinear;
  chart.lines.push_back(std::move(line));
  return line_chart(chart);
}

/// Of a network; a closed form was not trained.
void training_curves(const model::ModelInfo& model, Page& page) {
  if (!model.curve || model.curve->loss.empty()) return;
  page.heading("The training");
  page.begin_grid();
  page.figure(chart_of("Loss of a step's batch", model.curve->loss),
              "How far a batch is from the release. It falls on while the release's noise is fitted.");
  if (!model.curve->to_proxy.empty())
    page.figure(chart_of("Squared distance to what chooses", model.curve->to_proxy),
                "To the release's proxy or, without one, to what was held out of it: nothing was trained on "
                "either. The nearest state was kept.");
  page.end_grid();
}

}  // namespace

void public_settings(const PublicMaterial& m, Page& page) {
  const release::Artifact& a = m.artifact();
  page.heading("Release, ledger and signature");
  ledger_and_signature(m, page);
  page.heading("What was summed");
  maps_table(a, page);
  if (m.model) {
    page.heading("Model and samples");
    TextTable facts{
        {}, {{"generator", std::string(m.model->generator->kind())}, {"model (SHA-256)", m.model_hash}}};
    if (m.samples) {
      facts.rows.push_back(
          {"synthetic records", fmt::format("{}, in {}", m.samples->in_file, m.samples_name)});
      facts.rows.push_back({"samples (SHA-256)", m.samples_hash});
    }
    page.table(facts);
    training_curves(*m.model, page);
  }
  page.heading("Schema: public, written by people");
  if (a.schema.table) {
    schema_table(*a.schema.table, page);
  } else {
    std::string shape;
    for (const std::size_t side : a.schema.shape)
      shape += (shape.empty() ? "" : " x ") + std::to_string(side);
    page.table({{}, {{"a record", shape + " numbers"}, {"classes", std::to_string(a.schema.classes)}}});
  }
  page.folded("The privacy statement in full",
              release::privacy_statement_text(a, m.verification.ledger ? &*m.verification.ledger : nullptr));
}

}  // namespace muffle::report
