// parse_table_toml. Input: a TOML file.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"

using namespace muffle;

namespace {

/// What is written of a code is read as this code.
void check_text(const schema::Column& column) {
  const schema::ColumnText text(column);
  const auto codes = static_cast<std::uint32_t>(column.codes());
  for (const std::uint32_t code : {0U, codes / 2, codes - 1}) {
    std::string written;
    text.write({code, 0.5f}, written);
    const bool as_missing =
        std::find(column.spellings.begin(), column.spellings.end(), written) != column.spellings.end();
    const bool blanks = written.find_first_of(" \t\r\n") != std::string::npos;  // those at its ends are lost
    if (blanks || (as_missing && code != column.missing_code())) continue;
    const schema::FieldReading read = text.read(written);
    fuzz::demand(read.misfit == schema::Misfit::kNone && read.cell && read.cell->code == code,
                 "a code is read as it was written");
  }
}

/// All parts of a day are times of it.
void check_time(const schema::Column& column) {
  const schema::ColumnText text(column);
  for (const float fraction : {0.0f, 0.5f, 0.999f}) {
    for (std::uint32_t code = 0; code < column.codes(); ++code) {
      const double time = schema::time_in_day(text, {code, fraction});
      fuzz::demand(time >= 0 && time < schema::kSecondsADay, "it is a time of day");
    }
  }
}

/// What follows from a row's dates is a number within its bounds, that is read as it was written.
void check_numbers(const schema::Table& table) {
  const schema::RowNumbers rows(table);
  const std::vector<std::size_t> codes = table.codes();
  for (const double at : {0.0, 0.5, 0.999}) {
    const std::vector<float> record(codes.size(), static_cast<float>(at));
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      const schema::Column& column = table.columns[j];
      const double number = rows.follows(j) ? rows.number(j, record) : std::nan("");
      if (std::isnan(number) || !column.is_number()) continue;
      if (column.derived)
        fuzz::demand(number >= column.lo && number <= column.hi, "it lies within its bounds");
      if (column.dates)
        fuzz::demand(number >= column.dates->lo && number <= column.dates->hi, "it is a date of its own");
      if (column.counts_days()) {
        const double earlier = rows.number(*column.since, record);
        fuzz::demand(number >= earlier + column.apart->lo && number <= earlier + column.apart->hi,
                     "it is as much later as it may be");
      }
      std::string written;
      schema::write_number(column, number, written);
      const auto read = schema::parse_number(column.type, written.substr(0, written.find('.')));
      fuzz::demand(read && std::abs(*read - number) <= 1, "it is read as it was written");
    }
  }
}

/// A row in the middle of everything keeps the rules once it is mended.
void check_rules(const schema::Table& table) {
  const schema::RowRules rules(table);
  if (rules.empty()) return;
  const std::vector<std::size_t> features = table.features(), codes = table.codes();
  std::vector<float> numbers(features.size(), 0.5f);
  rules.mend(numbers, 0);
  std::vector<schema::Cell> row(table.columns.size());
  for (std::size_t k = 0; k < features.size(); ++k) row[features[k]] = schema::cell_at(numbers[k], codes[k]);
  fuzz::demand(!rules.broken(row), "a mended row keeps the rules");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  schema::Table table;
  try {
    table = schema::parse_table_toml(fuzz::Input(data, size).rest(), "schema.toml");
  } catch (const ConfigError&) {
    return 0;
  }
  fuzz::demand(table.problems().empty(), "what was read contradicts nothing");
  const nlohmann::json json = nlohmann::json::parse(schema::to_json(table).dump());
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  fuzz::demand(schema::read_table(JsonFields(json, document)) == table, "the table's JSON is the same table");
  fuzz::demand(schema::table_hash(table).size() == 64, "it has a hash");
  for (std::size_t j = 0; j < std::min<std::size_t>(table.columns.size(), 16); ++j) {
    const schema::Column& column = table.columns[j];
    if (!column.is_unread() && column.role != schema::ColumnRole::kPerson && !column.since && !column.time_of)
      check_text(schema::as_in_files(table, j));
    if (column.time_of) check_time(column);
  }
  check_numbers(table);
  check_rules(table);
  return 0;
}
