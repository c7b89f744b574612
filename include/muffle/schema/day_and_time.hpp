#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "muffle/schema/table.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {

/// What the time of day of such a column is called.
std::string time_of_day_name(const std::string& datetime);
/// A comparison of a datetime with another, or with a value. With a date it is by the day.
bool is_by_the_second(const Table& table, const Constraint& rule);
/// Why a column does not become a day and a time of day, for people: "it is no datetime", "its bins are
/// written by hand". Empty: it does.
std::string why_one_number(const Table& table, std::size_t column);
/// Makes of every datetime that can be (why_one_number()) a day, which keeps its place and name, and a time
/// of day "NAME (time of day)" behind the last column. Called for what people write, once dates count since
/// others (count_since_by_rules()).
/// @param whole  columns that stay one number
void split_datetimes(Table& table, const std::set<std::size_t>& whole);

/// The column as files have it: one that is_day() with the bounds and the step of its datetimes, in one bin.
/// Any other: as it is.
Column as_in_files(const Table& table, std::size_t column);

/// A datetime, in seconds since 1970-01-01.
struct DayAndTime {
  double day;   ///< its midnight
  double time;  ///< seconds since then
};
DayAndTime day_and_time(double datetime);
/// The time of day of a cell of such a column. Where it is missing (the day of a synthetic row tells whether
/// the datetime is): by where in the missing value's code the cell lies, all times alike.
double time_in_day(const ColumnText& time, Cell cell);

}  // namespace muffle::schema
