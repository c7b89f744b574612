#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/schema/table_text.hpp"

namespace muffle::data {

/// The dates of a row that are no number of a record as they are: those that count since another
/// (schema::Column::since) wait until both are known, and datetimes whose time of day is a column of its own
/// (schema::Column::has_time()) until the row's end. Private: it holds a row's values.
class Differences {
 public:
  enum class Of {
    kRecords,  ///< what a record is made of: dates that count since another, these, and datetimes
    kChecks,   ///< those of which columns are derived, too
  };

  Differences(const schema::Table& table, Of of);

  void begin();
  /// Takes note of a field, as text or as a number. @returns whether it is a date that waits: settle() then
  /// says what it is. All others are read as they are; so is what is missing, or no date.
  template <class Field>
  bool take(std::size_t column, const Field& field) {
    return columns_.empty() || !columns_[column].text ? false : waits(columns_[column], field);
  }
  /// After the row's last field: calls each(column, reading) of all that waited, of a datetime that has a
  /// time for what counts days and then for its time. Where the other date is not known, neither is the
  /// difference: it is missing, or, where it may not be, has no cell (nor has the other).
  template <class Each>
  void settle(const Each& each) {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const Column& column = columns_[j];
      if (!column.value || !(column.since || column.time)) continue;
      if (!column.time) {
        each(j, reading(column));
        continue;
      }
      const auto [day, time] = column.since ? later_parts(column) : parts(column);
      each(j, day);
      each(*column.time, time);
    }
  }
  /// Of the row at hand, as the file has it: a date that is noted and there.
  std::optional<double> date(std::size_t column) const { return columns_[column].value; }

 private:
  struct Column {
    std::optional<schema::ColumnText> text;  ///< as files have it; none: it is read as it is
    std::optional<std::size_t> since;
    std::optional<std::size_t> time;                    ///< of a datetime that has one: its time's column
    std::optional<schema::ColumnText> day_of, time_of;  ///< likewise: the parts
    std::optional<schema::Grid>
        grid;  ///< of `text`, where this datetime or one that counts since it has a time
    std::optional<double> value;
  };

  static bool waits(Column& column, std::string_view field);
  static bool waits(Column& column, double field);
  static bool waits(Column& column, const schema::FieldReading& reading, std::optional<double> value);
  schema::FieldReading reading(const Column& own) const;
  /// Of a datetime that has a time: its column's reading, and that of its time's column.
  using Parts = std::pair<schema::FieldReading, schema::FieldReading>;
  static Parts parts(const Column& own);
  Parts later_parts(const Column& own) const;

  std::vector<Column> columns_;  ///< the table's; empty: there is nothing to note
};

}  // namespace muffle::data
