#include "table_rows.hpp"

#include <algorithm>

namespace muffle::evaluate {

Features::Features(const schema::Schema& schema) {
  if (!schema.table) {
    of_images_ = schema.is_image();
    columns_.resize(schema.dims());
    for (Column& column : columns_) column.first = width_++;
    return;
  }
  codes_ = schema.table->codes();
  for (const std::size_t j : schema.table->features()) {
    const schema::Column& column = schema.table->columns[j];
    if (column.is_number()) {
      columns_.push_back({width_, 0, column.missing});
      text_.emplace_back(column);
    } else {
      columns_.push_back({width_, column.codes(), false});
      text_.emplace_back();
    }
    width_ += columns_.back().width();
  }
}

void Features::read(std::span<const float> record, float* values) const {
  if (codes_.empty()) {
    std::copy(record.begin(), record.end(), values);
    return;
  }
  for (std::size_t j = 0; j < record.size(); ++j) {
    const schema::Cell cell = schema::cell_at(record[j], codes_[j]);
    if (!text_[j]) {
      values[j] = static_cast<float>(cell.code);
      continue;
    }
    const schema::Column& column = text_[j]->column();
    const double width = column.hi - column.lo;
    values[j] = static_cast<float>((text_[j]->number(cell) - column.lo) / (width > 0 ? width : 1.0));
  }
}

void Rows::add(std::span<const float> record, std::int32_t label) {
  const std::size_t columns = features->columns().size();
  values.resize(values.size() + columns);
  features->read(record, values.data() + values.size() - columns);
  y.push_back(label);
}

Rows Rows::first(std::size_t n) const {
  const auto to = [](const auto& all, std::size_t end) {
    return all.begin() + static_cast<std::ptrdiff_t>(end);
  };
  return {
      features, classes, {values.begin(), to(values, n * features->columns().size())}, {y.begin(), to(y, n)}};
}

void Rows::clear() {
  values.clear();
  y.clear();
}

}  // namespace muffle::evaluate
