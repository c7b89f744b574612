#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "muffle/schema/table_text.hpp"

namespace muffle::data {

/// The fields of a row that count since another one (schema::Column::since): each waits for both values.
/// Private: it holds a row's values.
class Differences {
 public:
  explicit Differences(const schema::Table& table);

  void begin();
  /// Takes note of a field, as text or as a number. @returns whether it is a date that waits: settle() then
  /// says what it is. All others are read as they are; so is what is missing, or no date.
  template <class Field>
  bool take(std::size_t column, const Field& field) {
    return columns_.empty() || !columns_[column].text ? false : waits(columns_[column], field);
  }
  /// After the row's last field: calls each(column, reading) of all that waited and whose other date is
  /// known.
  template <class Each>
  void settle(const Each& each) {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const Column& own = columns_[j];
      if (!own.since || !own.value || !columns_[*own.since].value) continue;
      each(j, own.text->read(*own.value - *columns_[*own.since].value));
    }
  }

 private:
  struct Column {
    std::optional<schema::ColumnText> text;  ///< none: it has to do with no difference
    std::optional<std::size_t> since;
    std::optional<double> value;  ///< of the row at hand, as the file has it
  };

  static bool waits(Column& column, std::string_view field);
  static bool waits(Column& column, double field);
  static bool waits(Column& column, const schema::FieldReading& reading, std::optional<double> value);

  std::vector<Column> columns_;  ///< the table's; empty: none counts since another
};

}  // namespace muffle::data
