#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muffle::evaluate {

/// A number that a metric found, as finely as it may be told.
struct Cell {
  nlohmann::json value;         ///< null: there is none here
  std::string text;             ///< for people
  std::vector<std::string> at;  ///< which field of metrics.json it is, besides; empty: none
};

/// A table: a row for each thing that was looked at.
struct FoundTable {
  std::string title;  ///< what the rows are
  std::vector<std::string> columns;
  struct Row {
    std::string name;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  std::size_t at_a_terminal = static_cast<std::size_t>(-1);  ///< so many rows; files have all of them
};

/// Curves over one axis: distribution functions, densities, a training's course.
struct FoundSeries {
  std::string title;
  std::string along;       ///< what the axis counts
  std::vector<double> at;  ///< ascending
  struct Line {
    std::string name;
    std::vector<double> values;  ///< of each of `at`
  };
  std::vector<Line> lines;
};

/// What a metric hands over. What people read at a terminal, metrics.json and `muffle report` are views of
/// it. Not covered by the release's guarantee where the metric has real_records().
struct Findings {
  std::vector<FoundTable> tables;
  std::vector<FoundSeries> series;                  ///< in files and reports; a terminal has none
  std::vector<std::string> sentences;               ///< what is to be thought of them
  nlohmann::json facts = nlohmann::json::object();  ///< fields of metrics.json that are in no table;
                                                    ///< "is_private" false: of a release that is NOT PRIVATE
};

/// Lines for people.
std::string text_of(const Findings& findings);
/// Fields of metrics.json: facts, each cell where it says, and "findings", KIND: {"tables", "series",
/// "sentences"}. @throws InvariantError  a line that is longer or shorter than its axis.
nlohmann::json json_of(const Findings& findings, std::string_view kind);

}  // namespace muffle::evaluate
