#include "table_arrays.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "csv_rows.hpp"
#include "muffle/core/error.hpp"
#include "npy_files.hpp"
#include "table_fields.hpp"

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
        fields_.put(column, type.to_double(stored), row);
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
  const std::size_t columns = table.columns.size();
  if (is_npy(file)) {
    ArrayReader matrix = open_npy(file, /*texts=*/true);
    if (matrix.header().record_shape().size() != 1 || matrix.header().record_elements() != columns) {
      throw DataError(
          fmt::format("{} is no matrix of the schema's {} columns: it holds {} numbers a record. Its columns "
                      "are those of data.schema, in their order, the ignored ones among them.",
                      matrix.name(), columns, matrix.header().record_elements()));
    }
    std::vector<std::size_t> all(columns);
    std::iota(all.begin(), all.end(), std::size_t{0});
    add(std::move(matrix), std::move(all));
    return;
  }
  for (std::size_t j = 0; j < columns; ++j) {
    if (!needed(j)) continue;
    ArrayReader column = open_member(file, table.columns[j].name, /*texts=*/true);
    if (column.header().record_elements() != 1) {
      throw DataError(
          fmt::format("{} holds {} numbers a record: a column of a table is one number or text a record.",
                      column.name(), column.header().record_elements()));
    }
    // The counts themselves may be private: the message does not tell them.
    if (!arrays_.empty() && column.header().records() != records()) {
      throw DataError(name() + " and " + column.name() +
                      " hold different numbers of records: all columns of a table have the same.");
    }
    add(std::move(column), {j});
  }
  require(!arrays_.empty(), "a table without columns");
}

void TableArrays::add(ArrayReader reader, std::vector<std::size_t> columns) {
  if (reader.header().record_bytes() > kMostRowBytes) {
    throw DataError(fmt::format("{} has records of more than {} MiB. Write shorter texts.", reader.name(),
                                kMostRowBytes >> 20));
  }
  std::vector<std::byte> stored(reader.header().record_bytes());
  arrays_.push_back({std::move(reader), std::move(columns), std::move(stored)});
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
