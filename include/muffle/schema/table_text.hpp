#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// The grid of a number's column: which of its values lie in which bin. lo + i step for i < count().
class Grid {
 public:
  explicit Grid(const Column& column);
  std::uint64_t count() const { return count_; }
  /// Of a value within the bounds: the nearest.
  std::uint64_t index(double value) const;
  double value(std::uint64_t index) const;
  /// Bin of value(index).
  std::uint32_t bin(std::uint64_t index) const;
  /// First index of a bin; of bins(): count().
  std::uint64_t first(std::uint32_t bin) const { return first_[bin]; }
  Cell cell(std::uint64_t index) const {
    return index < cells_.size() ? cells_[index] : computed_cell(index);
  }
  std::uint64_t index_of(Cell cell) const;

 private:
  double lo_, step_, scale_;  ///< scale_: 10^decimals
  std::uint64_t count_;
  std::vector<std::uint64_t> first_;  ///< bins + 1
  std::vector<Cell> cells_;           ///< of the first indices, as files are read by the million

  Cell computed_cell(std::uint64_t index) const;
  Cell cell_in(std::uint32_t bin, std::uint64_t index) const;
};

/// A number as files write it that have no other notation: of an integer, a decimal, a date (days since
/// 1970-01-01), a datetime (seconds since then) or a time (seconds since midnight). None: it is not one.
std::optional<double> parse_number(ColumnType type, std::string_view text);
/// The text of one, appended: muffle's own way, whatever the column's notation is.
void write_number(const Column& column, double value, std::string& out);
/// For people, of a column that counts since another: "3.5 days"; of a datetime that is_day(): its date.
/// None: of any other, whose numbers are what files have.
std::optional<std::string> special_text(const Column& column, double value);

/// Why a field does not fit its column. No misfit carries the field itself: that is private.
enum class Misfit {
  kNone,
  kNotANumber,  ///< nor a date or time, where the column holds those
  kBelow,       ///< under the column's lo
  kAbove,       ///< over its hi
  kUnknown,     ///< not one of its categories
  kAbsent,      ///< a value is missing, and the column lacks none
  kTooEarly,    ///< before the date that a rule says it follows (Column::dates): records need not keep rules
};
inline constexpr std::size_t kMisfits = 7;

/// For people: "is not a number", "is not one of the column's categories". Without content.
std::string_view misfit_text(Misfit misfit, const Column& column);
/// The same of some: "1 field is not a number", "12 fields are not a number".
std::string misfits_text(std::uint64_t fields, Misfit misfit, const Column& column);

/// A field that was read, or what it becomes under OnError::kClamp.
struct FieldReading {
  Misfit misfit = Misfit::kNone;
  /// The cell; of a misfit what takes its place: the nearer bound, or else the missing value. None: the
  /// column has no such value, and the record contributes zero.
  std::optional<Cell> cell;
};

/// The text of one column's fields: the only place where fields become cells, and cells fields. Immutable.
class ColumnText {
 public:
  /// @param column  checked (Table::check()).
  explicit ColumnText(Column column);
  const Column& column() const { return column_; }

  /// Blanks around the field do not count, and composed and decomposed Unicode are one text. A decimal
  /// between two values of the grid is taken to the nearer.
  FieldReading read(std::string_view field) const;
  /// The same from a number that a file holds as such: integers and decimals by value, dates in days and
  /// times in seconds, categories by their index in Column::values, or, where numbers_are_texts(), as the
  /// text that this number is. NaN: absent; so is a number that a missing value is spelt as.
  FieldReading read(double number) const;
  /// Of a column that counts since another: by how much its date is later, in days or seconds.
  FieldReading read_difference(double later_by) const;
  /// Of categories: one of their texts is a number, and not its own index ("1", "2", "3"). A number in a file
  /// then means what it means as text; one that two categories are spelt as ("1" and "01") means none.
  bool numbers_are_texts() const { return numbers_are_texts_; }
  /// Appends the value of a cell, unquoted. Numbers: the grid's values within the bin, each equally wide.
  void write(Cell cell, std::string& out) const;
  /// A number, date or time as text, in the column's notation, its bounds' codes too. None: it is none.
  std::optional<double> number(std::string_view field) const;
  /// Appends one.
  void write_number(double value, std::string& out) const;
  /// The value of a number's cell, or the index of a category; NaN: missing. Of a column that counts_days():
  /// whole_days().
  double number(Cell cell) const;

 private:
  FieldReading of_number(double value) const;
  FieldReading misfit(Misfit which) const;
  void find_numbers();

  Column column_;
  NumberText numbers_text_;
  std::optional<Grid> grid_;  ///< of numbers
  /// Looks texts up without a copy.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>
      codes_;  ///< of spellings, missing ones too
  std::unordered_map<double, std::optional<std::uint32_t>>
      numbers_;  ///< of categories that numbers_are_texts(), of other columns missing values: codes_ of
                 ///< numbers
  bool numbers_are_texts_ = false;
};

}  // namespace muffle::schema
