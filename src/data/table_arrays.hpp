#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// The records of a table in NumPy's arrays: an .npz with one a column, or an .npy of records x columns, in
/// the schema's order, the ignored ones among them, or of records whose fields have the columns' names.
class TableArrays {
 public:
  /// @param needed  whether a column of the schema must be there. @throws IoError;  DataError: an array is no
  /// column, or arrays hold different numbers of records.
  TableArrays(const std::string& file, const schema::Table& table,
              const std::function<bool(std::size_t)>& needed);

  std::uint64_t records() const { return arrays_.front().reader.header().records(); }
  /// The record that read() takes next, counting from 0.
  std::uint64_t position() const { return arrays_.front().reader.position(); }
  /// Of the file, or of its first array.
  const std::string& name() const { return arrays_.front().reader.name(); }

  void go_to(std::uint64_t record);
  /// @throws DataError  truncated or damaged.
  void read();
  void expect_end();

  /// Calls use(column of the schema, ElementType, stored bytes) for each field of the record that was read.
  template <class Use>
  void each(const Use& use) const {
    for (const Array& a : arrays_) {
      for (const Place& p : a.places) use(p.column, p.type, a.stored.data() + p.offset);
    }
  }
  /// The number of a field that is no text: of a date the days, where it is stored as a time.
  static double number(const schema::Column& column, const ElementType& type, const std::byte* stored);

 private:
  struct Place {
    std::size_t column;
    ElementType type;
    std::size_t offset;  ///< bytes
  };
  struct Array {
    ArrayReader reader;
    std::vector<Place> places;      ///< of the schema's columns in a record of it
    std::vector<std::byte> stored;  ///< the record that was read
  };
  void add(ArrayReader reader, std::vector<Place> places, const schema::Table& table);
  void add_matrix(ArrayReader matrix, const schema::Table& table);
  void add_fields(ArrayReader records, const schema::Table& table,
                  const std::function<bool(std::size_t)>& needed);

  std::vector<Array> arrays_;
};

/// A table's records out of such a file. @throws what TableArrays throws.
std::unique_ptr<RecordStream> table_records(const DataSpec& spec, const std::string& file);

}  // namespace muffle::data
