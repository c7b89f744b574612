#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// The records of a table in NumPy's arrays: an .npz with one a column, or an .npy of records x columns, in
/// the schema's order, the ignored ones among them.
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
      const ElementType& type = a.reader.header().type;
      for (std::size_t i = 0; i < a.columns.size(); ++i)
        use(a.columns[i], type, a.stored.data() + i * type.size);
    }
  }

 private:
  struct Array {
    ArrayReader reader;
    std::vector<std::size_t> columns;  ///< of the schema: what a record of it holds
    std::vector<std::byte> stored;     ///< the record that was read
  };
  void add(ArrayReader reader, std::vector<std::size_t> columns);

  std::vector<Array> arrays_;
};

/// A table's records out of such a file. @throws what TableArrays throws.
std::unique_ptr<RecordStream> table_records(const DataSpec& spec, const std::string& file);

}  // namespace muffle::data
