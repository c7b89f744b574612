#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/drain.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/table_text.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data::test {

inline schema::Column category(std::string name, std::vector<schema::Category> values,
                               schema::ColumnRole role = schema::ColumnRole::kFeature) {
  schema::Column c;
  c.name = std::move(name);
  c.role = role;
  c.values = std::move(values);
  return c;
}

inline schema::Column number(std::string name, double lo, double hi, double step, int decimals,
                             std::vector<double> edges) {
  schema::Column c;
  c.name = std::move(name);
  c.type = decimals > 0 ? schema::ColumnType::kDecimal : schema::ColumnType::kInteger;
  c.lo = lo;
  c.hi = hi;
  c.step = step;
  c.decimals = decimals;
  c.edges = std::move(edges);
  return c;
}

/// age, height, job (which may be missing), note (ignored), income (the label): 3 numbers, 2 classes.
inline schema::Table people_table() {
  schema::Table table;
  table.columns.push_back(number("age", 0, 99, 1, 0, {0, 20, 40, 60, 100}));
  table.columns.push_back(number("height", 0, 2.5, 0.1, 1, {0, 1, 2, 2.6}));
  table.columns.push_back(category("job", {{"clerk", {}}, {"cook, chef", {"cook"}}, {"n\"urse", {}}}));
  table.columns.back().missing = true;
  table.columns.back().spellings = {"?", "", "NA"};
  table.columns.push_back(category("note", {}));
  table.columns.back().type = schema::ColumnType::kIgnore;
  table.columns.push_back(
      category("income", {{"<=50K", {"<=50K."}}, {">50K", {">50K."}}}, schema::ColumnRole::kLabel));
  return table;
}

inline schema::Schema schema_of(schema::Table table,
                                schema::OnError on_error = schema::OnError::kRejectFile) {
  schema::Schema schema;
  schema.shape = {table.features().size()};
  schema.classes = table.label() ? table.columns[*table.label()].codes() : 1;
  schema.lo = 0;
  schema.hi = 1;
  schema.on_error = on_error;
  schema.table = std::make_shared<const schema::Table>(std::move(table));
  return schema;
}

/// A folder with files of people.
class Tables : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& bytes) const {
    std::filesystem::remove(folder_ / file);
    std::ofstream(folder_ / file, std::ios::binary) << bytes;
  }
  DataSpec spec(const std::string& features = "people.csv") const {
    DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = features;
    spec.schema = schema_of(people_table());
    return spec;
  }
  /// The codes of a record's numbers, and its label.
  static std::vector<int> codes_of(const Batch& batch, std::size_t record, const schema::Schema& schema) {
    const std::vector<std::size_t> codes = schema.table->codes();
    std::vector<int> out;
    for (std::size_t j = 0; j < codes.size(); ++j)
      out.push_back(static_cast<int>(schema::cell_at(batch.x[record * codes.size() + j], codes[j]).code));
    out.push_back(batch.y[record]);
    return out;
  }
  std::vector<std::vector<int>> codes(const DataSpec& spec, int rank = 0, int ranks = 1) const {
    const Batch all = read_all(spec, rank, ranks);
    std::vector<std::vector<int>> out;
    for (std::size_t i = 0; i < all.n; ++i) out.push_back(codes_of(all, i, spec.schema));
    return out;
  }

  muffle::test::TemporaryFolder folder_;
};

}  // namespace muffle::data::test
