#include "muffle/schema/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace muffle::schema {
namespace {

std::optional<std::size_t> with_role(const std::vector<Column>& columns, ColumnRole role) {
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (!columns[j].is_unread() && columns[j].role == role) return j;
  }
  return std::nullopt;
}

}  // namespace

std::string_view type_name(ColumnType type) {
  static constexpr std::array<std::string_view, 10> kNames{
      "integer", "decimal", "category", "ordinal", "boolean", "date", "datetime", "time", "key", "ignore"};
  return kNames[static_cast<std::size_t>(type)];
}

float position(Cell cell, std::size_t codes) {
  // Twice what rounding to float32 can move it by: the code survives.
  const double margin = static_cast<double>(codes) * 0x1p-23;
  const double within = std::clamp(static_cast<double>(cell.fraction), margin, 1.0 - margin);
  return static_cast<float>((static_cast<double>(cell.code) + within) / static_cast<double>(codes));
}

Cell cell_at(float position, std::size_t codes) {
  const double at = std::clamp(static_cast<double>(position), 0.0, 1.0) * static_cast<double>(codes);
  const double code = std::min(std::floor(at), static_cast<double>(codes - 1));
  return {static_cast<std::uint32_t>(code), static_cast<float>(at - code)};
}

std::size_t Table::in_files() const {
  std::size_t n = columns.size();
  while (n > 0 && columns[n - 1].time_of) --n;
  return n;
}

std::optional<std::size_t> Table::time_of_day(std::size_t column) const {
  for (std::size_t j = in_files(); j < columns.size(); ++j) {
    if (columns[j].time_of == column) return j;
  }
  return std::nullopt;
}

std::vector<std::size_t> Table::features() const {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].is_feature()) out.push_back(j);
  }
  return out;
}

std::optional<std::size_t> Table::label() const { return with_role(columns, ColumnRole::kLabel); }
std::optional<std::size_t> Table::target() const { return with_role(columns, ColumnRole::kTarget); }
std::optional<std::size_t> Table::person() const {
  const auto counted = counted_person();
  return counted ? counted : with_role(columns, ColumnRole::kPerson);
}
std::optional<std::size_t> Table::counted_person() const {
  return with_role(columns, ColumnRole::kCountedPerson);
}

std::vector<std::size_t> Table::codes() const {
  std::vector<std::size_t> out;
  for (const std::size_t j : features()) out.push_back(columns[j].codes());
  return out;
}

Table with_label_as_column(Table table) {
  if (const auto label = table.label()) table.columns[*label].role = ColumnRole::kTarget;
  return table;
}

Table with_rows_counted(Table table) {
  const auto person = table.person();
  if (!person || table.columns[*person].rows == 0) return table;
  Column& column = table.columns[*person];
  column.role = ColumnRole::kCountedPerson;
  column.values.clear();
  for (std::size_t k = 1; k <= column.rows; ++k) column.values.push_back({std::to_string(k), {}});
  return table;
}

Table with_rows_not_counted(Table table) {
  if (const auto person = table.counted_person()) {
    table.columns[*person].role = ColumnRole::kPerson;
    table.columns[*person].values.clear();
  }
  return table;
}

Table as_described(Table table) {
  if (const auto target = table.target()) table.columns[*target].role = ColumnRole::kLabel;
  return with_rows_not_counted(std::move(table));
}

}  // namespace muffle::schema
