#include "muffle/evaluate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kNameWidth = 22, kLeastWidth = 9;

std::string text_of(const FoundTable& table) {
  const std::size_t rows = std::min(table.rows.size(), table.at_a_terminal);
  if (rows == 0) return {};
  std::size_t name = std::max(kNameWidth, table.title.size());
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(std::max(kLeastWidth, column.size()));
  for (std::size_t r = 0; r < rows; ++r) {
    name = std::max(name, table.rows[r].name.size());
    for (std::size_t c = 0; c < table.rows[r].cells.size(); ++c)
      widths[c] = std::max(widths[c], table.rows[r].cells[c].text.size());
  }
  std::string out = fmt::format("{:{}}", table.title, name);
  for (std::size_t c = 0; c < widths.size(); ++c) out += fmt::format("  {:>{}}", table.columns[c], widths[c]);
  out += "\n";
  for (std::size_t r = 0; r < rows; ++r) {
    std::string line = fmt::format("{:{}}", table.rows[r].name, name);
    for (std::size_t c = 0; c < table.rows[r].cells.size(); ++c)
      line += fmt::format("  {:>{}}", table.rows[r].cells[c].text, widths[c]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

void put(nlohmann::json& into, const Cell& cell) {
  if (cell.at.empty() || cell.value.is_null()) return;
  nlohmann::json* field = &into;
  for (const std::string& key : cell.at) field = &(*field)[key];
  *field = cell.value;
}

nlohmann::json json_of(const std::vector<FoundSeries>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const FoundSeries& series : all) {
    nlohmann::json lines = nlohmann::json::array();
    for (const FoundSeries::Line& line : series.lines) {
      require(line.values.size() == series.at.size(), "a line of another length than its axis");
      lines.push_back({{"name", line.name}, {"values", line.values}});
    }
    out.push_back(
        {{"title", series.title}, {"along", series.along}, {"at", series.at}, {"lines", std::move(lines)}});
  }
  return out;
}

}  // namespace

std::string text_of(const Findings& findings) {
  std::string out;
  for (const FoundTable& table : findings.tables) out += text_of(table);
  for (const std::string& sentence : findings.sentences) out += sentence + "\n";
  return out;
}

nlohmann::json json_of(const Findings& findings, std::string_view kind) {
  nlohmann::json out = findings.facts, tables = nlohmann::json::array();
  for (const FoundTable& table : findings.tables) {
    nlohmann::json rows = nlohmann::json::array();
    for (const FoundTable::Row& row : table.rows) {
      nlohmann::json line = nlohmann::json::array({row.name});
      for (const Cell& cell : row.cells) {
        line.push_back(cell.value);
        put(out, cell);
      }
      rows.push_back(std::move(line));
    }
    tables.push_back({{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}});
  }
  out["findings"][std::string(kind)] = {
      {"tables", std::move(tables)}, {"series", json_of(findings.series)}, {"sentences", findings.sentences}};
  return out;
}

}  // namespace muffle::evaluate
