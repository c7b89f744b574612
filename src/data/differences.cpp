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
    if (column.has_time()) {
      note(j);
      columns_[j].time = table.time_of_day(j);
      columns_[j].day_of.emplace(column);
      columns_[j].time_of.emplace(table.columns[*columns_[j].time]);
      for (const std::size_t dated : {j, column.since.value_or(j)})
        columns_[dated].grid.emplace(columns_[dated].text->column());
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

Differences::Parts Differences::parts(const Column& own) {
  const schema::Column& column = own.text->column();
  const double value = std::clamp(*own.value, column.lo, column.hi);
  // On the grid before it is cut: what is nearest to midnight may be of the next day.
  const schema::DayAndTime both = schema::day_and_time(own.grid->value(own.grid->index(value)));
  schema::FieldReading day = own.day_of->read_difference(both.day);
  if (*own.value < value) day.misfit = Misfit::kBelow;
  if (*own.value > value) day.misfit = Misfit::kAbove;
  return {day, own.time_of->read_difference(both.time)};
}

/// What fits is said of the difference as it is; what it is in days, of both datetimes on their grids.
Differences::Parts Differences::later_parts(const Column& own) const {
  const schema::FieldReading difference = reading(own);
  const Column& other = columns_[*own.since];
  if (!other.value) {
    const schema::Column& time = own.time_of->column();
    if (!difference.cell) return {difference, difference};
    return {{Misfit::kNone, schema::Cell{own.day_of->column().missing_code(), 0.5f}},
            {Misfit::kNone, schema::Cell{time.missing_code(), 0.5f}}};
  }
  const schema::Column& column = own.text->column();
  const double from = std::clamp(*other.value, other.text->column().lo, other.text->column().hi);
  const double date = column.dates ? std::clamp(*own.value, column.dates->lo, column.dates->hi) : *own.value;
  const double earlier = other.grid->value(other.grid->index(from));
  const double scale = std::pow(10.0, column.decimals);
  const double apart = own.grid->value(own.grid->index(date - earlier));
  const schema::LaterBy by = schema::later_by(std::round((earlier + apart) * scale) / scale, earlier);
  schema::FieldReading days = own.day_of->read_difference(by.apart);
  days.misfit = difference.misfit;
  return {days, own.time_of->read_difference(by.time)};
}

}  // namespace muffle::data
