#include "table_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "csv_rows.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/plain_text.hpp"
#include "npy_files.hpp"
#include "table_fields.hpp"
#include "zip_file.hpp"

namespace muffle::data {
namespace {

class ArrayTable final : public RecordStream {
 public:
  ArrayTable(const DataSpec& spec, const std::string& file)
      : fields_(spec, [this] { return last(); }),
        arrays_(file, fields_.table(), [this](std::size_t j) { return fields_.needs(j); }) {}

  std::uint64_t records() const override { return arrays_.records(); }
  bool holds_bytes() const override { return false; }
  void go_to(std::uint64_t record) override { arrays_.go_to(record); }
  void read(Row& row) override {
    arrays_.read();
    fields_.begin(row);
    arrays_.each([&](std::size_t column, const ElementType& type, const std::byte* stored) {
      // A person is told apart by all digits, which a double may not have.
      if (type.is_text() || (fields_.is_person(column) && type.is_integer())) {
        fields_.put(column, std::string_view(type.to_text(stored)), row);
      } else {
        fields_.put(column, TableArrays::number(fields_.table().columns[column], type, stored), row);
      }
    });
    fields_.end(row);
  }
  void expect_end() override { arrays_.expect_end(); }

  std::string name() const override { return arrays_.name(); }
  Place last() const override {
    return {arrays_.name(), arrays_.position() - 1, arrays_.name(), arrays_.name()};
  }
  std::string misfits() const override { return fields_.misfits(); }

 private:
  TableFields fields_;
  TableArrays arrays_;
};

}  // namespace

TableArrays::TableArrays(const std::string& file, const schema::Table& table,
                         const std::function<bool(std::size_t)>& needed) {
  if (is_npy(file)) {
    ArrayReader array = open_npy(file, /*texts=*/true);
    if (array.header().type.kind == ElementType::Kind::kFields) {
      add_fields(std::move(array), table, needed);
    } else {
      add_matrix(std::move(array), table);
    }
    return;
  }
  if (const std::string only = only_zip_member(file); is_npy(only)) {
    const std::string called = only.substr(0, only.size() - std::string_view(".npy").size());
    ArrayReader array = open_member(file, called, true);
    const auto is_it = [&](const schema::Column& c) { return c.name == called; };
    if (array.header().type.kind == ElementType::Kind::kFields) {
      add_fields(std::move(array), table, needed);
      return;
    }
    // "arr_0": an array without a name of a column is the whole table.
    if (std::none_of(table.columns.begin(), table.columns.end(), is_it)) {
      add_matrix(std::move(array), table);
      return;
    }
  }
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (!needed(j)) continue;
    ArrayReader column = open_member(file, table.columns[j].name, /*texts=*/true);
    const ElementType type = column.header().type;
    if (column.header().record_elements() != 1 || type.kind == ElementType::Kind::kFields) {
      throw DataError(fmt::format(
          "{} holds {} numbers a record: a column of a table is one number or text a record.", column.name(),
          column.header().record_elements() * std::max<std::size_t>(1, column.header().fields.size())));
    }
    // The counts themselves may be private: the message does not tell them.
    if (!arrays_.empty() && column.header().records() != records()) {
      throw DataError(name() + " and " + column.name() +
                      " hold different numbers of records: all columns of a table have the same.");
    }
    add(std::move(column), {{j, type, 0}}, table);
  }
  require(!arrays_.empty(), "a table without columns");
}

void TableArrays::add_matrix(ArrayReader matrix, const schema::Table& table) {
  const std::size_t columns = table.in_files();
  const ElementType type = matrix.header().type;
  const std::uint64_t numbers = matrix.header().record_elements();
  // One dimension is one column.
  if (matrix.header().record_shape().size() > 1 || numbers != columns) {
    throw DataError(
        fmt::format("{} is no matrix of the schema's {} column{}: a record of it {}. Its columns are those "
                    "of data.schema, "
                    "in their order, the ignored ones among them.",
                    matrix.name(), columns, columns == 1 ? "" : "s",
                    matrix.header().record_shape().size() > 1
                        ? "has several dimensions"
                        : fmt::format("holds {} number{}", numbers, numbers == 1 ? "" : "s")));
  }
  std::vector<Place> all;
  for (std::size_t j = 0; j < columns; ++j) all.push_back({j, type, j * type.size});
  add(std::move(matrix), std::move(all), table);
}

void TableArrays::add_fields(ArrayReader records, const schema::Table& table,
                             const std::function<bool(std::size_t)>& needed) {
  const ArrayHeader& header = records.header();
  std::vector<Place> places;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (!needed(j)) continue;
    const auto field = std::find_if(
        header.fields.begin(), header.fields.end(),
        [&](const ArrayHeader::Field& f) { return schema::plain_text(f.name) == table.columns[j].name; });
    if (header.record_elements() != 1 || field == header.fields.end() || field->elements != 1) {
      throw DataError(
          fmt::format("{} has no field '{}' of one number or text a record: the fields of its records are "
                      "named as the columns of data.schema.",
                      records.name(), table.columns[j].name));
    }
    places.push_back({j, field->type, field->offset});
  }
  add(std::move(records), std::move(places), table);
}

double TableArrays::number(const schema::Column& column, const ElementType& type, const std::byte* stored) {
  constexpr double kSecondsADay = 86400.0;
  const double value = type.to_double(stored);
  return type.is_time() && column.type == schema::ColumnType::kDate ? value / kSecondsADay : value;
}

void TableArrays::add(ArrayReader reader, std::vector<Place> places, const schema::Table& table) {
  if (reader.header().record_bytes() > kMostRowBytes) {
    throw DataError(fmt::format("{} has records of more than {} MiB. Write shorter texts.", reader.name(),
                                kMostRowBytes >> 20));
  }
  for (const Place& p : places) {
    const schema::Column& column = table.columns[p.column];
    // A time of day is none of these: it has no date.
    const bool takes_times = column.type == schema::ColumnType::kDate ||
                             column.type == schema::ColumnType::kDatetime || column.is_unread();
    if (p.type.is_time() && !takes_times) {
      throw DataError(
          fmt::format("{} holds times (datetime64), and column '{}' of the schema is neither of dates nor "
                      "of times.",
                      reader.name(), column.name));
    }
  }
  std::vector<std::byte> stored(reader.header().record_bytes());
  arrays_.push_back({std::move(reader), std::move(places), std::move(stored)});
}

void TableArrays::go_to(std::uint64_t record) {
  for (Array& a : arrays_) a.reader.go_to(record);
}

void TableArrays::read() {
  for (Array& a : arrays_) a.reader.read(a.stored);
}

void TableArrays::expect_end() {
  for (Array& a : arrays_) a.reader.expect_end();
}

std::unique_ptr<RecordStream> table_records(const DataSpec& spec, const std::string& file) {
  return std::make_unique<ArrayTable>(spec, file);
}

}  // namespace muffle::data
