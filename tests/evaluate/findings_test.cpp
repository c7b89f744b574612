#include "muffle/evaluate/findings.hpp"

#include <gtest/gtest.h>

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
    "sentences": ["Of two columns one is far."]})"));
}

}  // namespace
}  // namespace muffle::evaluate
