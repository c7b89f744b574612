#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "muffle/schema/schema.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::evaluate {

/// What classifiers read of a record: features in [0, 1], column after column. A number is one, scaled by its
/// bounds; where it may be missing a second one says that it is, and the first is 0 then. A category is one
/// for each of its codes, the missing value's among them: 1 for the record's own, and 0. Records that are no
/// table have numbers alone.
class Features {
 public:
  struct Column {
    std::size_t first = 0;  ///< feature
    std::size_t codes = 0;  ///< of a category; 0: a number
    bool missing = false;   ///< a number that may be
    std::size_t width() const { return codes > 0 ? codes : missing ? 2 : 1; }
  };

  explicit Features(const schema::Schema& schema);
  std::span<const Column> columns() const { return columns_; }
  std::size_t width() const { return width_; }
  bool are_of_images() const { return of_images_; }

  /// A record as one value a column: a category's code, or the scaled number, NaN if it is missing.
  /// @param record  numbers in [0, 1], of tables positions
  void read(std::span<const float> record, float* values) const;

  /// Calls visit(feature, value) for each number and for each feature that is 1: the others are 0.
  template <class Visit>
  void visit(const float* values, Visit&& visit) const {
    for (const Column& column : columns_) {
      const float v = *values++;
      if (column.codes > 0) {
        visit(column.first + static_cast<std::size_t>(v), 1.0f);
      } else if (std::isnan(v)) {
        visit(column.first + 1, 1.0f);
      } else {
        visit(column.first, v);
      }
    }
  }

 private:
  std::vector<Column> columns_;
  std::size_t width_ = 0;
  bool of_images_ = false;
  std::vector<std::size_t> codes_;                       ///< of each column of a table
  std::vector<std::optional<schema::ColumnText>> text_;  ///< of its numbers
};

/// Labelled records as classifiers read them.
struct Rows {
  const Features* features;
  std::size_t classes;        ///< C
  std::vector<float> values;  ///< n x columns, row-major, by Features::read()
  std::vector<std::int32_t> y;

  std::size_t size() const { return y.size(); }
  const float* row(std::size_t i) const { return values.data() + i * features->columns().size(); }
  void add(std::span<const float> record, std::int32_t label);
  void clear();
  /// @param n  at most size()
  Rows first(std::size_t n) const;
};

}  // namespace muffle::evaluate
