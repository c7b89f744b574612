#include "differences.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/plain_text.hpp"

namespace muffle::data {

using schema::Misfit;

Differences::Differences(const schema::Table& table, Of of) {
  const auto note = [&](std::size_t j) {
    columns_.resize(table.columns.size());
    if (!columns_[j].text) columns_[j].text.emplace(schema::as_in_files(table, j));
  };
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    const schema::Column& column = table.columns[j];
    if (column.since) {
      note(j);
      note(*column.since);
      columns_[j].since = column.since;
    }
    if (column.is_day()) {
      note(j);
      columns_[j].time = table.time_of_day(j);
      columns_[j].day_of.emplace(column);
      columns_[j].time_of.emplace(table.columns[*columns_[j].time]);
    }
    if (column.derived && of == Of::kChecks) {
      note(column.derived->later);
      note(column.derived->earlier);
    }
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
  return column.since || column.time;
}

schema::FieldReading Differences::reading(const Column& own) const {
  const schema::Column& column = own.text->column();
  const Column& other = columns_[*own.since];
  if (!other.value) {
    if (!column.missing) return {};
    return {Misfit::kNone, schema::Cell{column.missing_code(), 0.5f}};
  }
  // From what the other date becomes, where it lies outside its bounds: the sum is this one again.
  const double from = std::clamp(*other.value, other.text->column().lo, other.text->column().hi);
  if (!column.dates) return own.text->read_difference(*own.value - from);
  const double date = std::clamp(*own.value, column.dates->lo, column.dates->hi);
  schema::FieldReading out = own.text->read_difference(date - from);
  if (out.misfit == Misfit::kBelow) out.misfit = Misfit::kTooEarly;
  if (*own.value < date) out.misfit = Misfit::kBelow;
  if (*own.value > date) out.misfit = Misfit::kAbove;
  return out;
}

std::pair<schema::FieldReading, schema::FieldReading> Differences::parts(const Column& own) {
  const schema::Column& column = own.text->column();
  const double value = std::clamp(*own.value, column.lo, column.hi);
  // On the grid before it is cut: what is nearest to midnight may be of the next day.
  const double last = std::round((column.hi - column.lo) / column.step);
  const double nearest = std::min(std::round((value - column.lo) / column.step), last);
  const schema::DayAndTime both = schema::day_and_time(column.lo + nearest * column.step);
  schema::FieldReading day = own.day_of->read_difference(both.day);
  if (*own.value < value) day.misfit = Misfit::kBelow;
  if (*own.value > value) day.misfit = Misfit::kAbove;
  return {day, own.time_of->read_difference(both.time)};
}

}  // namespace muffle::data
