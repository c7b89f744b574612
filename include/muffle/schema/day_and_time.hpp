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
/// of day "NAME (time of day)" behind the last column. One that counts since another becomes, in place of a
/// day, what LaterBy says. Called for what people write, once dates count since others
/// (count_since_by_rules()).
/// @param whole  columns that stay one number
void split_datetimes(Table& table, const std::set<std::size_t>& whole);

/// The column as files have it: one that has_time() with the bounds of its datetimes, or of what they lie
/// apart from others, and their step, in one bin. Any other: as it is.
Column as_in_files(const Table& table, std::size_t column);

/// A datetime, in seconds since 1970-01-01.
struct DayAndTime {
  double day;   ///< its midnight
  double time;  ///< seconds since then
};
DayAndTime day_and_time(double datetime);

/// How much later a datetime is than another, not later, in a column that counts_days(). Those of one day
/// keep the time between them; of others the days count from midnight to midnight, so that the time of day
/// has a law of its own.
struct LaterBy {
  /// Seconds. From a day on it stands for whole days (whole_days()), and is a noon.
  double apart;
  double time;  ///< of the later one's day
};
LaterBy later_by(double later, double earlier);
/// The days that such a number stands for, in seconds; below a day: itself.
double whole_days(double apart);
/// The later datetime again, whatever a sampler draws: within the bounds of the difference, and of the
/// column's own dates. What would leave the day of the other one, and is drawn for that day, has its own time
/// of day, where that is not earlier, and else as much of what is left of the day as it is of a whole one.
/// @param column  counts_days()
double later_datetime(const Column& column, double earlier, const LaterBy& by);
/// What the numbers of such a column lie within, by Column::apart and the bounds of both dates.
DateBounds later_bounds(const Table& table, const Column& column);
/// The time of day of a cell of such a column. Where it is missing (the day of a synthetic row tells whether
/// the datetime is): by where in the missing value's code the cell lies, all times alike.
double time_in_day(const ColumnText& time, Cell cell);

}  // namespace muffle::schema
