#include "differences.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/schema/plain_text.hpp"

namespace muffle::data {

using schema::Misfit;

Differences::Differences(const schema::Table& table) {
  if (std::none_of(table.columns.begin(), table.columns.end(), [](const auto& c) { return c.since; })) return;
  columns_.resize(table.columns.size());
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].since = table.columns[j].since;
    if (!columns_[j].since) continue;
    columns_[j].text.emplace(table.columns[j]);
    columns_[*columns_[j].since].text.emplace(table.columns[*columns_[j].since]);
  }
}

void Differences::begin() {
  for (Column& column : columns_) column.value.reset();
}

bool Differences::waits(Column& column, std::string_view field) {
  return waits(column, column.text->read(field), column.text->number(schema::trimmed(field)));
}

bool Differences::waits(Column& column, double field) {
  return waits(column, column.text->read(field), std::isfinite(field) ? std::optional(field) : std::nullopt);
}

bool Differences::waits(Column& column, const schema::FieldReading& reading, std::optional<double> value) {
  const bool dated =
      reading.misfit == Misfit::kNone || reading.misfit == Misfit::kBelow || reading.misfit == Misfit::kAbove;
  const schema::Column& of = column.text->column();
  const bool missing =
      reading.misfit == Misfit::kNone && of.missing && reading.cell->code == of.missing_code();
  if (!dated || missing || !value) return false;
  column.value = value;
  return column.since.has_value();
}

}  // namespace muffle::data
