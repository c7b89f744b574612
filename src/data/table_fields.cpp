#include "table_fields.hpp"

#include <fmt/format.h>

#include <utility>

#include "person_text.hpp"

namespace muffle::data {
namespace {

using schema::Misfit;

constexpr float kMiddle = 0.5f;

}  // namespace

TableFields::TableFields(const DataSpec& spec, Where where)
    : table_(spec.schema.table),
      clamp_(spec.schema.on_error == schema::OnError::kClamp),
      where_(std::move(where)),
      columns_(table_->columns.size()),
      differences_(*table_, Differences::Of::kRecords) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const schema::Column& column = table_->columns[j];
    ColumnUse& use = columns_[j];
    use.time = table_->time_of_day(j);
    if (column.is_unread() || column.follows()) continue;
    if (column.is_person()) {
      if (spec.records_per_person > 0) use.use = Use::kPerson;
      if (column.is_feature()) row_number_ = numbers_++;
      continue;
    }
    use.use = column.is_feature() ? Use::kNumber : Use::kLabel;
    if (column.is_feature()) use.number = numbers_++;
    use.text.emplace(column);
    use.quick.emplace(*use.text);
    for (std::uint32_t code = 0; code < column.codes(); ++code)
      use.middles.push_back(schema::position({code, kMiddle}, column.codes()));
  }
  require(numbers_ == spec.schema.dims(), "a table's schema has as many numbers a record as it has features");
}

void TableFields::begin(Row& row) {
  row.floats.resize(numbers_);
  if (row_number_) row.floats[*row_number_] = 0.0f;
  row.label = 0;
  row.person.clear();
  usable_ = true;
  differences_.begin();
}

void TableFields::put(std::size_t column, std::string_view field, Row& row) {
  const ColumnUse& use = columns_[column];
  switch (use.use) {
    case Use::kNone:
      return;
    case Use::kNumber:
      if (differences_.take(column, field)) return;
      if (const float position = use.quick->position(field); position >= 0 && !use.time) {
        row.floats[use.number] = position;
        return;
      }
      return put(column, use.text->read(field), row);
    case Use::kLabel:
      if (const std::int64_t code = use.quick->code(field); code >= 0) {
        row.label = code;
        return;
      }
      return put(column, use.text->read(field), row);
    case Use::kPerson:
      break;
  }
  put_person(column, person_text(table_->columns[column], field), row);
}

void TableFields::put_person(std::size_t column, std::string person, Row& row) {
  row.person = std::move(person);
  if (!row.person.empty()) return;
  misfit(column, Misfit::kAbsent);
  usable_ = false;  // whose it is must be known
}

void TableFields::put(std::size_t column, double field, Row& row) {
  ColumnUse& use = columns_[column];
  if (use.use == Use::kNone) return;
  if (use.use == Use::kPerson) return put_person(column, person_text(table_->columns[column], field), row);
  if (!differences_.take(column, field)) put(column, use.text->read(field), row);
}

void TableFields::put(std::size_t column, const schema::FieldReading& field, Row& row) {
  const ColumnUse& use = columns_[column];
  if (field.misfit != Misfit::kNone && field.misfit != Misfit::kTooEarly) misfit(column, field.misfit);
  if (use.use == Use::kLabel) {
    if (field.misfit == Misfit::kNone) {
      row.label = field.cell->code;
    } else {
      usable_ = false;
    }
    return;
  }
  // Of a datetime that is missing, or none, so is the time; settle() says what it is of any other.
  if (use.time && !(field.cell && field.cell->code < use.text->column().bins())) {
    const schema::Column& time = columns_[*use.time].text->column();
    put(*use.time,
        field.cell ? schema::FieldReading{Misfit::kNone, schema::Cell{time.missing_code(), kMiddle}}
                   : schema::FieldReading{},
        row);
  }
  float& number = row.floats[use.number];
  if (!field.cell) {
    usable_ = false;
    number = 0.0f;
  } else if (field.cell->fraction == kMiddle) {
    number = use.middles[field.cell->code];
  } else {
    number = schema::position(*field.cell, use.middles.size());
  }
}

void TableFields::end(Row& row) {
  differences_.settle(
      [&](std::size_t column, const schema::FieldReading& reading) { put(column, reading, row); });
  if (!usable_) row.label = -1;
}

void TableFields::misfit(std::size_t column, Misfit which) {
  ++columns_[column].misfits.at(static_cast<std::size_t>(which));
  if (clamp_) return;
  const RecordStream::Place place = where_();
  const schema::Column& c = table_->columns[column];
  throw DataError(
      "a record of " + place.files +
          " does not fit the public schema: a field is none of its column's values, and data.on_error = " +
          "\"reject-file\" refuses the job for it; this rank's own log says which one. Mend the record, " +
          "correct the schema, or set data.on_error = \"clamp\".",
      LocalDetail{fmt::format("row {} of {}, column '{}': the field {} (the first row is 1; a header, blank "
                              "lines, and comments before them, do not count).",
                              place.record + 1, place.files, c.name, schema::misfit_text(which, c))});
}

std::string TableFields::misfits() const {
  std::string all;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    for (std::size_t k = 0; k < columns_[j].misfits.size(); ++k) {
      if (columns_[j].misfits[k] == 0) continue;
      all += fmt::format(
          "{}column '{}': {}", all.empty() ? "" : "; ", table_->columns[j].name,
          schema::misfits_text(columns_[j].misfits[k], static_cast<Misfit>(k), table_->columns[j]));
    }
  }
  return all;
}

}  // namespace muffle::data
