#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/json_fields.hpp"
#include "muffle/schema/notation.hpp"

namespace muffle::schema {

/// What a column of a table holds.
enum class ColumnType {
  kInteger,
  kDecimal,
  kCategory,
  kOrdinal,   ///< categories with an order
  kBoolean,   ///< two categories, "false" and "true" unless `values` spells them otherwise
  kDate,      ///< YYYY-MM-DD; its number: days since 1970-01-01
  kDatetime,  ///< YYYY-MM-DDThh:mm:ss, a space for the T too; its number: seconds since 1970-01-01
  kTime,      ///< hh:mm:ss, a time of day; its number: seconds since midnight
  kKey,       ///< in the files, if it is there, never read; synthetic rows have fresh ones (key_text.hpp)
  kIgnore,    ///< in the files, never read, and not among the synthetic columns
};

/// In the order of their enumerators.
inline constexpr ColumnType kLastType = ColumnType::kIgnore;

/// Of values on a grid.
constexpr bool is_temporal_type(ColumnType type) {
  return type == ColumnType::kDate || type == ColumnType::kDatetime || type == ColumnType::kTime;
}
constexpr bool is_number_type(ColumnType type) {
  return type == ColumnType::kInteger || type == ColumnType::kDecimal || is_temporal_type(type);
}

/// No field of such a column is ever looked at, and nothing of it is released.
constexpr bool is_unread_type(ColumnType type) {
  return type == ColumnType::kKey || type == ColumnType::kIgnore;
}

enum class ColumnRole {
  kFeature,
  kLabel,   ///< the class: categories; at most one column
  kPerson,  ///< who a row belongs to: at most one column, never released; bounds what one person can change
  kTarget,  ///< of releases alone: the label, counted like any other column (with_label_as_column())
  kCountedPerson,  ///< of releases alone: the person; as a number of a record, which of that person's records
                   ///< it is (with_rows_counted())
};

/// A value as feature maps and generators see it: one of finitely many codes, and where within the code's
/// bin it lies.
struct Cell {
  std::uint32_t code = 0;
  float fraction = 0.5f;  ///< in (0, 1)
};

/// One category: how it is written, and how else files spell it.
struct Category {
  std::string name;
  std::vector<std::string> aliases;

  bool operator==(const Category&) const = default;
};

/// Two dates, days or seconds since 1970-01-01 as their column's type counts, or what dates lie apart.
struct DateBounds {
  double lo = 0.0, hi = 0.0;

  bool operator==(const DateBounds&) const = default;
};

/// How far two dates of a row lie apart.
struct Derivation {
  enum class Unit {
    kDays,   ///< of an integer: of the calendar; of a decimal: of 24 hours
    kYears,  ///< that are completed, as ages count: integers
  };

  Unit unit = Unit::kDays;
  std::size_t later = 0, earlier = 0;  ///< of Table::columns: dates or datetimes

  bool operator==(const Derivation&) const = default;
};

/// Which of a column's categories goes with each of another's.
struct Determination {
  std::size_t by = 0;                ///< of Table::columns: categories
  std::vector<std::uint32_t> codes;  ///< of each of its values

  bool operator==(const Determination&) const = default;
};

/// A column of the public schema. Every number in it is public: written by people, never read off the data.
///
/// Numbers, dates and times lie on a grid: lo, lo + step, ..., hi, whose bins are public. A category is a
/// code of its own. The missing value, where the column may lack one, is the last code.
struct Column {
  std::string name;
  ColumnType type = ColumnType::kCategory;
  ColumnRole role = ColumnRole::kFeature;
  std::string unit;  ///< for people

  double lo = 0.0, hi = 0.0;  ///< both are values; of numbers, dates and times
  double step = 1.0;          ///< between values: 1 of integers and dates
  int decimals = 0;           ///< written after the point; of times: of the second
  std::vector<double>
      edges;  ///< bins + 1, ascending, first <= lo, last >= hi: bin b holds edges[b] <= v < edges[b+1],
              ///< the last one its upper edge too. A bin without a value of the grid is refused.
  bool learned = false;  ///< nobody wrote bins: these are the cells of a public grid (fine_bins()), which a
                         ///< release of counts merges as far as its own noisy numbers say
  std::vector<Category> values;  ///< of categories, in their order
  Notation notation;             ///< of numbers, dates and times; of keys prefix and suffix
  int digits = 0;                ///< of keys: all have so many, zeros in front; 0: as many as it takes
  /// Of dates and datetimes: a column of Table::columns of the same type. What is a number of a record, and
  /// has lo, hi, step and edges, is then by how much this one is later than that one (days, or seconds); in
  /// files both are dates. None: they are its own.
  std::optional<std::size_t> since;
  /// What the column's own dates lie within, where lo and hi are of something else: of a column that counts
  /// since another by a rule between the two; and of a datetime that is_day().
  std::optional<DateBounds> dates;
  /// Of a datetime that counts since another, and counts_days(): what the two lie apart, in seconds. lo, hi
  /// and edges are then those of such a number: of two datetimes of one day by how much this one is later; of
  /// others the days from midnight to midnight. Its time of day is a column of its own.
  std::optional<DateBounds> apart;
  /// Of a time of day: the datetime of Table::columns that has_time(). Such columns are behind all others;
  /// files do not have them.
  std::optional<std::size_t> time_of;
  /// Not a number of a record: never read nor released, and in samples what follows from the row's dates. lo
  /// and hi are what can follow (derived_bounds()); there is one bin.
  std::optional<Derivation> derived;
  /// Of categories, likewise: what goes with those of another column.
  std::optional<Determination> determined;

  bool numeric = false;  ///< of a person: a number, however it is spelt; else a text
  /// Of a person: up to so many rows of one are told apart, and how many people have how many is released;
  /// 0: it is not. Then samples have the column, with made-up people in the notation of keys (prefix, digits,
  /// suffix).
  std::size_t rows = 0;

  bool missing = false;  ///< a value may be absent
  std::vector<std::string>
      spellings;  ///< of absent values, the first is how it is written; "": an empty field

  bool is_number() const { return is_number_type(type); }
  /// A datetime of which lo, hi, step and edges are those of its day (in seconds all the same: midnights);
  /// its time of day is a column of its own (Table::time_of_day()), with a law of its own. In files both are
  /// one.
  bool is_day() const { return dates && !since; }
  /// It counts since another: on the day of the other one the time between both, and else whole days.
  bool counts_days() const { return since && apart; }
  /// A datetime whose time of day is a column of its own.
  bool has_time() const { return is_day() || counts_days(); }
  /// Dates, datetimes and times of day.
  bool is_temporal() const { return is_temporal_type(type); }
  /// It is never read: in samples it follows from other columns of its row.
  bool follows() const { return derived || determined; }
  /// Whether its values are classes by themselves or a column like the others.
  bool is_label() const { return role == ColumnRole::kLabel || role == ColumnRole::kTarget; }
  /// Files' fields of it are never looked at, and nothing of it is released: is_unread_type().
  bool is_unread() const { return is_unread_type(type); }
  /// Whose a row is.
  bool is_person() const { return role == ColumnRole::kPerson || role == ColumnRole::kCountedPerson; }
  /// Samples have it: it is neither ignored nor the person (unless it has `rows`), nor but the time of a
  /// datetime.
  bool is_sampled() const { return type != ColumnType::kIgnore && (!is_person() || rows > 0) && !time_of; }
  /// It is a number of a record: it neither is_unread() nor follows() nor is the label, class by class, nor
  /// the person.
  bool is_feature() const {
    return !is_unread() && role != ColumnRole::kLabel && role != ColumnRole::kPerson && !follows();
  }
  /// Bins or categories.
  std::size_t bins() const { return is_number() ? edges.size() - 1 : values.size(); }
  /// bins(), and one for the missing value. (A record of nobody never counts.)
  std::size_t codes() const { return bins() + (missing && role != ColumnRole::kCountedPerson ? 1 : 0); }
  std::uint32_t missing_code() const { return static_cast<std::uint32_t>(bins()); }

  bool operator==(const Column&) const = default;
};

/// A cell as a number in (0, 1), in which records of tables pass through batches, maps and samplers:
/// (code + fraction) / codes, as float32. There and back, cell_at(position()) has the same code, and the same
/// fraction but for rounding.
float position(Cell cell, std::size_t codes);
/// Any float: what lies outside [0, 1) becomes the nearest code.
Cell cell_at(float position, std::size_t codes);

/// A code of one column, and one of another.
using CodePair = std::pair<std::uint32_t, std::uint32_t>;

/// What must hold between the columns of every synthetic row (row_rules.hpp). A missing value breaks nothing.
struct Constraint {
  enum class Kind {
    kCompare,  ///< columns[0] op columns[1], or op `value`: numbers, dates or times of one type
    kSum,      ///< columns[0] = columns[1] + columns[2] + ...
    kImplies,  ///< columns[0] is one of `when`: columns[1] is one of `then`
    kAmong,    ///< columns[0] and columns[1], categories, are one of `allowed`
  };
  enum class Op { kLess, kAtMost, kAtLeast, kGreater, kEqual };

  Kind kind = Kind::kCompare;
  std::vector<std::size_t> columns;  ///< of Table::columns
  Op op = Op::kAtMost;
  std::optional<double> value;
  std::vector<std::uint32_t> when, then;  ///< codes, the missing value's among them; `then` is in order of
                                          ///< preference: what a row that breaks the rule becomes
  std::vector<CodePair> allowed = {};     ///< ascending, none twice, of values that are there

  bool operator==(const Constraint&) const = default;
};

/// The columns of a table, and what must hold between them. Immutable once checked; shared by copies of a
/// Schema.
struct Table {
  std::vector<Column> columns;  ///< all, in the files' order; behind them the times of day (Column::time_of)
  std::vector<Constraint> constraints;

  /// So many of `columns`, the first ones, are in files.
  std::size_t in_files() const;
  /// Of a column that has_time(): its time of day. None: of any other.
  std::optional<std::size_t> time_of_day(std::size_t column) const;

  /// Indices of columns that are numbers of a record (Column::is_feature()), in order: number j of a record
  /// is column features()[j].
  std::vector<std::size_t> features() const;
  std::optional<std::size_t> label() const;
  std::optional<std::size_t> target() const;
  std::optional<std::size_t> person() const;
  /// The person, where the number of the record among that person's is a number of a record (kCountedPerson).
  std::optional<std::size_t> counted_person() const;
  /// Codes of each number of a record.
  std::vector<std::size_t> codes() const;

  /// What contradicts itself, by column or constraint; empty: nothing. Everybody who makes a table asks.
  std::vector<std::string> problems() const;

  bool operator==(const Table&) const = default;
};

/// The same table, its label a target: for releases of so few records that a label of its own would cost more
/// than it tells (docs/explanation/pairs.md). Without a label: as it is.
Table with_label_as_column(Table table);
/// The same table, of whose person's column (if it has `rows`) a number of a record is made: which of that
/// person's records it is, as categories "1", "2", ..
Table with_rows_counted(Table table);
/// And back.
Table with_rows_not_counted(Table table);
/// Back from both: as the schema's file has it, by which people compare schemas.
Table as_described(Table table);

/// A table has no more columns, a column no more codes, a label no more values (labels are bytes).
inline constexpr std::size_t kMostColumns = 4096, kMostCodes = std::size_t{1} << 16, kMostLabelValues = 256;
/// All pairs of columns whose combinations are listed have no more codes, one's times the other's.
inline constexpr std::size_t kMostCombinations = std::size_t{1} << 20;
inline constexpr double kSecondsADay = 86400.0;
/// Column::rows
inline constexpr std::size_t kMostRowsOfAPerson = 1000;

/// "integer", "decimal", ... : the types' names in schemas.
std::string_view type_name(ColumnType type);

/// The table's only spelling in releases and models, and back, strictly. The result has no problems().
/// @throws ProtocolError naming the field.
nlohmann::json to_json(const Table& table);
Table read_table(const JsonFields& fields);
/// SHA-256, in hex, of that spelling: what ranks and sites compare.
std::string table_hash(const Table& table);
/// Of each column, and of the constraints: a name for people, and the first 16 digits of such a hash.
std::map<std::string, std::string> column_hashes(const Table& table);
/// What differs between two tables, for people: "column 'age': bounds; ...". Public.
std::string differences(const Table& one, const Table& other);

}  // namespace muffle::schema
