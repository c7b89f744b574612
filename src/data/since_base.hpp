#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "muffle/schema/table_text.hpp"

namespace muffle::data {

/// The date that a column counts since (schema::Column::since), in the rows of samples.
class SinceBase {
 public:
  SinceBase(const schema::Table& table, std::size_t column)
      : text_(table.columns[column]), codes_(table.columns[column].codes()) {
    const std::vector<std::size_t> features = table.features();
    number_ =
        static_cast<std::size_t>(std::find(features.begin(), features.end(), column) - features.begin());
  }
  /// @param record  its positions
  double value(std::span<const float> record) const {
    return text_.number(schema::cell_at(record[number_], codes_));
  }

 private:
  schema::ColumnText text_;
  std::size_t codes_, number_ = 0;
};

inline std::optional<SinceBase> base_of(const schema::Table& table, const schema::Column& column) {
  if (!column.since) return std::nullopt;
  return SinceBase(table, *column.since);
}

}  // namespace muffle::data
