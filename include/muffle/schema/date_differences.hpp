#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muffle/schema/table.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {

/// "days(LATER - EARLIER)" or "years(LATER - EARLIER)", the columns by their names. None: it is neither, or
/// the table lacks one of them.
std::optional<Derivation> parse_derivation(std::string_view text, const Table& table);
/// The same back, for people.
std::string derivation_text(const Derivation& derived, const Table& table);
/// The number of a derived column of a row with these two dates, as their columns count; NaN: one is missing.
double derived_number(const Table& table, const Column& column, double later, double earlier);
/// What such numbers lie within, whatever the row.
DateBounds derived_bounds(const Table& table, const Column& column);

/// Turns every comparison of two dates that can be one into a difference (Column::since, Column::dates),
/// which needs no rule: the later one counts since the earlier one. Those stay rules whose later date has
/// bins by hand, stands in another comparison, or has bounds that end before the earlier one's; whose earlier
/// date may be missing or counts since another itself; and whose steps do not match. Called for what people
/// write, once it names columns that are there.
void count_since_by_rules(Table& table);

/// What samples have in the columns that no number of a record alone tells: dates that count since another,
/// datetimes of a day and a time of day, and what is derived or determined. Immutable. Public:
/// post-processing.
class RowNumbers {
 public:
  /// @param table  without problems(); it must outlive this.
  explicit RowNumbers(const Table& table);

  /// Whether number() is to be asked for the column.
  bool follows(std::size_t column) const {
    const Column& c = table_.columns[column];
    return c.since || c.is_day() || c.follows();
  }
  /// @param column  one that follows, or a number of a record
  /// @param record  positions of its numbers
  /// @returns the column's number, as files have it, or of categories the code; NaN: missing
  double number(std::size_t column, std::span<const float> record) const;

 private:
  struct Known {
    ColumnText text;
    std::size_t at;  ///< in a record
  };

  /// Of a column that has_time().
  double time_of_day(std::size_t column, std::span<const float> record) const;

  const Table& table_;
  std::vector<std::optional<Known>>
      known_;  ///< of Table::columns: those of which others follow, that count since one, or are one's time
};

}  // namespace muffle::schema
