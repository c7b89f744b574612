#include "table_arrays.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "muffle/core/error.hpp"
#include "table_fields.hpp"

namespace muffle::data {
namespace {

/// What the two streams share: numbers become fields.
class ArrayTable : public RecordStream {
 public:
  explicit ArrayTable(const DataSpec& spec) : fields_(spec, [this] { return last(); }) {}

  bool holds_bytes() const override { return false; }
  std::string misfits() const override { return fields_.misfits(); }

 protected:
  TableFields& fields() { return fields_; }
  /// A person is told apart by all digits, which a double may not have.
  void put(std::size_t column, const ElementType& type, const std::byte* stored, Row& row) {
    if (fields_.is_person(column) && type.is_integer()) {
      fields_.put(column, std::string_view(type.to_text(stored)), row);
    } else {
      fields_.put(column, type.to_double(stored), row);
    }
  }

 private:
  TableFields fields_;
};

class ColumnRecords final : public ArrayTable {
 public:
  ColumnRecords(const DataSpec& spec, std::vector<ColumnArray> columns)
      : ArrayTable(spec), columns_(std::move(columns)) {
    require(!columns_.empty(), "a table without columns");
    const ArrayReader& first = columns_.front().reader;
    for (const auto& [column, reader] : columns_) {
      if (reader.header().record_elements() != 1) {
        throw DataError(
            fmt::format("{} holds {} numbers a record: a column of a table is one number a record.",
                        reader.name(), reader.header().record_elements()));
      }
      if (reader.header().records() == first.header().records()) continue;
      // The counts themselves may be private: the message does not tell them.
      throw DataError(first.name() + " and " + reader.name() +
                      " hold different numbers of records: all columns of a table have the same.");
    }
  }

  std::uint64_t records() const override { return columns_.front().reader.header().records(); }
  void go_to(std::uint64_t record) override {
    for (ColumnArray& c : columns_) c.reader.go_to(record);
  }
  void read(Row& row) override {
    // All are read before any is looked at: last() is the same record of all.
    stored_.resize(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      ArrayReader& reader = columns_[i].reader;
      reader.read(std::span(stored_[i]).first(reader.header().type.size));
    }
    fields().begin(row);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      put(columns_[i].column, columns_[i].reader.header().type, stored_[i].data(), row);
    fields().end(row);
  }
  void expect_end() override {
    for (ColumnArray& c : columns_) c.reader.expect_end();
  }

  std::string name() const override { return columns_.front().reader.name(); }
  Place last() const override { return {name(), columns_.front().reader.position() - 1, name(), name()}; }

 private:
  std::vector<ColumnArray> columns_;
  std::vector<std::array<std::byte, sizeof(std::uint64_t)>> stored_;  ///< of a record
};

class MatrixRecords final : public ArrayTable {
 public:
  MatrixRecords(const DataSpec& spec, ArrayReader matrix) : ArrayTable(spec), matrix_(std::move(matrix)) {
    const std::size_t columns = fields().table().columns.size();
    if (matrix_.header().record_shape().size() != 1 || matrix_.header().record_elements() != columns) {
      throw DataError(
          fmt::format("{} is no matrix of the schema's {} columns: it holds {} numbers a record. Its columns "
                      "are those of "
                      "data.schema, in their order, the ignored ones among them.",
                      matrix_.name(), columns, matrix_.header().record_elements()));
    }
    stored_.resize(matrix_.header().record_bytes());
  }

  std::uint64_t records() const override { return matrix_.header().records(); }
  void go_to(std::uint64_t record) override { matrix_.go_to(record); }
  void read(Row& row) override {
    const ElementType& type = matrix_.header().type;
    matrix_.read(stored_);
    fields().begin(row);
    for (std::size_t j = 0; j * type.size < stored_.size(); ++j)
      put(j, type, stored_.data() + j * type.size, row);
    fields().end(row);
  }
  void expect_end() override { matrix_.expect_end(); }

  std::string name() const override { return matrix_.name(); }
  Place last() const override {
    return {matrix_.name(), matrix_.position() - 1, matrix_.name(), matrix_.name()};
  }

 private:
  ArrayReader matrix_;
  std::vector<std::byte> stored_;
};

}  // namespace

std::unique_ptr<RecordStream> column_records(const DataSpec& spec, std::vector<ColumnArray> columns) {
  return std::make_unique<ColumnRecords>(spec, std::move(columns));
}

std::unique_ptr<RecordStream> matrix_records(const DataSpec& spec, ArrayReader matrix) {
  return std::make_unique<MatrixRecords>(spec, std::move(matrix));
}

}  // namespace muffle::data
