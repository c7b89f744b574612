#include "muffle/evaluate/findings.hpp"

#include <gtest/gtest.h>

#include "muffle/core/error.hpp"

namespace muffle::evaluate {
namespace {

Findings some() {
  Findings out;
  FoundTable& table = out.tables.emplace_back();
  table.title = "total variation";
  table.columns = {"synthetic", "real test"};
  table.rows = {
      {"age", {{0.25, "0.2500", {"marginals", "columns", "a/b"}}, {nullptr, "", {"marginals", "x"}}}},
      {"ward", {{0.5, "0.5000", {}}, {1, "1", {"marginals", "n"}}}}};
  table.at_a_terminal = 1;
  out.series = {
      {"distribution function of age", "age", {10, 20}, {{"real", {0.25, 1.0}}, {"synthetic", {0.5, 1.0}}}}};
  out.sentences = {"Of two columns one is far."};
  out.facts["marginals"]["seed"] = 7;
  return out;
}

TEST(Findings, OfATableATerminalHasSomeRows) {
  EXPECT_EQ(text_of(some()),
            "total variation         synthetic  real test\n"
            "age                        0.2500\n"
            "Of two columns one is far.\n");
}

TEST(Findings, CellsAreFieldsAndTheTablesAreThereWhole) {
  const nlohmann::json json = json_of(some(), "marginals");
  EXPECT_EQ(json["marginals"], nlohmann::json::parse(R"({"columns": {"a/b": 0.25}, "n": 1, "seed": 7})"));
  EXPECT_EQ(json["findings"]["marginals"], nlohmann::json::parse(R"({
    "tables": [{"title": "total variation", "columns": ["synthetic", "real test"],
                "rows": [["age", 0.25, null], ["ward", 0.5, 1]]}],
    "series": [{"title": "distribution function of age", "along": "age", "at": [10, 20],
                "lines": [{"name": "real", "values": [0.25, 1]}, {"name": "synthetic", "values": [0.5, 1]}]}],
    "sentences": ["Of two columns one is far."]})"));
}

TEST(Findings, ALineIsAsLongAsItsAxis) {
  Findings found = some();
  found.series[0].lines[1].values.pop_back();
  EXPECT_THROW(json_of(found, "marginals"), InvariantError);
}

TEST(Findings, ATableThatIsForFilesAloneIsNotPrinted) {
  Findings found = some();
  found.tables[0].at_a_terminal = 0;
  EXPECT_EQ(text_of(found), "Of two columns one is far.\n");
}

}  // namespace
}  // namespace muffle::evaluate
