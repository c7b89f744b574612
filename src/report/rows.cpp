#include "rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/spread.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostRows = 100'000, kMostValues = 20'000'000, kRowsABatch = 1024;

/// Columns of a table that are derived or determined.
std::vector<std::size_t> following(const schema::Table& table) {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (table.columns[j].type != schema::ColumnType::kIgnore && table.columns[j].follows()) out.push_back(j);
  }
  return out;
}

/// Of the row that was read last: the class that a column has; a missing one is none of them.
std::int32_t class_in(const Rows& rows, const Column& label) {
  const double value = rows.values[static_cast<std::size_t>(&label - rows.columns.data())].back();
  return static_cast<std::int32_t>(std::isnan(value) ? static_cast<double>(label.categories.size()) : value);
}

}  // namespace

Column column_of(const schema::Column& from) {
  Column out;
  out.name = from.name;
  out.is_number = from.is_number();
  out.may_be_missing = from.missing;
  out.is_label = from.is_label();
  out.follows = from.follows();
  out.lo = from.lo;
  out.hi = from.hi;
  for (const schema::Category& value : from.values) out.categories.push_back(value.name);
  out.schema = from;
  return out;
}

std::string Column::text(double value) const {
  if (std::isnan(value)) return "missing";
  if (!is_number) return categories.at(static_cast<std::size_t>(value));
  if (!schema) return fmt::format("{:.4g}", value);
  if (const auto special = schema::special_text(*schema, value)) return *special;
  std::string out;
  schema::ColumnText(*schema).write_number(value, out);
  return out;
}

std::string Column::short_text(double value) const {
  constexpr std::size_t kShort = 9, kDate = 8;
  if (!schema) return fmt::format("{:.3g}", value);
  const bool dates = schema->type == schema::ColumnType::kDatetime;
  if (schema->since) return fmt::format("{:.3g} d", dates ? value / schema::kSecondsADay : value);
  const std::string all =
      schema->type == schema::ColumnType::kDecimal ? fmt::format("{:.5g}", value) : text(value);
  if (dates) return all.substr(0, all.find_first_of("T ", kDate));
  return schema->is_temporal() || all.size() <= kShort ? all : fmt::format("{:.3g}", value);
}

std::vector<Column> columns_of(const schema::Schema& schema) {
  std::vector<Column> out;
  if (!schema.table) {
    for (std::size_t j = 0; j < schema.dims(); ++j) {
      out.emplace_back();
      out.back().name = fmt::format("x{}", j);
    }
    return out;
  }
  for (const std::size_t j : schema.table->features()) out.push_back(column_of(schema.table->columns[j]));
  if (const auto label = schema.table->label()) out.push_back(column_of(schema.table->columns[*label]));
  for (const std::size_t j : following(*schema.table)) out.push_back(column_of(schema.table->columns[j]));
  return out;
}

Rows read_rows(const data::DataSpec& spec, const Heartbeat& heartbeat) {
  const auto source = data::open_shard(spec, 0, 1);
  const std::size_t dims = spec.schema.dims();
  Rows out;
  out.columns = columns_of(spec.schema);
  out.values.resize(out.columns.size());
  out.in_file = source->shard_size();
  const std::uint64_t most =
      std::min<std::uint64_t>(kMostRows, kMostValues / std::max<std::size_t>(1, out.columns.size()) + 1);
  std::vector<std::size_t> codes;
  std::vector<std::optional<schema::ColumnText>> text(out.columns.size());
  if (spec.schema.table) {
    codes = spec.schema.table->codes();
    for (std::size_t j = 0; j < dims; ++j) text[j].emplace(*out.columns[j].schema);
  }
  std::optional<schema::RowRules> rules;
  if (spec.schema.table && !spec.schema.table->constraints.empty()) {
    rules.emplace(*spec.schema.table);
    if (!rules->contradiction().empty()) rules.reset();  // nothing can keep them: `train` says so
    out.breaks.assign(spec.schema.table->constraints.size(), 0);
  }
  std::optional<schema::RowNumbers> rows;
  std::vector<std::size_t> follow;
  if (spec.schema.table) {
    rows.emplace(*spec.schema.table);
    follow = following(*spec.schema.table);
  }
  const bool has_label = out.columns.size() > dims + follow.size();
  // A label that was released as a column: rows have their class all the same.
  const auto target = std::find_if(out.columns.begin(), out.columns.end(), [](const Column& column) {
    return column.schema && column.schema->role == schema::ColumnRole::kTarget;
  });
  data::Batch batch;
  std::uint64_t row = 0;
  for (;;) {
    source->next(kRowsABatch, batch);
    if (batch.n == 0) break;
    beat(heartbeat);
    for (std::size_t r = 0; r < batch.n; ++r, ++row) {
      const std::int32_t label = batch.y[r];
      if (label == schema::kNoClass || !is_one_of(most, row, out.in_file)) continue;
      for (std::size_t j = 0; j < dims; ++j) {
        const float x = batch.x[r * dims + j];
        double value = x;
        if (text[j]) {
          const schema::Cell cell = schema::cell_at(x, codes[j]);
          const schema::Column& column = text[j]->column();
          value = column.is_number() ? text[j]->number(cell)
                  : column.missing && cell.code == column.missing_code()
                      ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(cell.code);
        }
        out.values[j].push_back(value);
      }
      if (has_label) {
        const schema::Column& column = *out.columns[dims].schema;
        const bool missing = column.missing && static_cast<std::uint32_t>(label) == column.missing_code();
        out.values[dims].push_back(missing ? std::numeric_limits<double>::quiet_NaN() : label);
      }
      const auto record = std::span<const float>(batch.x).subspan(r * dims, dims);
      for (std::size_t k = 0; k < follow.size(); ++k)
        out.values[dims + (has_label ? 1 : 0) + k].push_back(rows->number(follow[k], record));
      out.labels.push_back(target == out.columns.end() ? label : class_in(out, *target));
      const bool classed =
          !has_label || static_cast<std::size_t>(label) < out.columns[dims].categories.size();
      if (!rules || !classed) continue;  // a missing value breaks nothing
      const auto broken = rules->all_broken(record, label);
      for (const std::size_t rule : broken) ++out.breaks[rule];
      if (!broken.empty()) ++out.breaks_any;
    }
  }
  if (out.size() == 0)
    throw DataError(
        fmt::format("'{}' has no row that fits the schema. `muffle check` says why.", spec.features));
  return out;
}

Rows rows_of_class(const Rows& rows, std::int32_t label) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.labels[i] == label) at.push_back(i);
  }
  return rows_at(rows, at);
}

Rows rows_at(const Rows& rows, std::span<const std::size_t> at) {
  Rows out;
  out.columns = rows.columns;
  out.values.resize(rows.values.size());
  for (std::size_t j = 0; j < rows.values.size(); ++j) {
    out.values[j].reserve(at.size());
    for (const std::size_t i : at) out.values[j].push_back(rows.values[j][i]);
  }
  for (const std::size_t i : at) out.labels.push_back(rows.labels[i]);
  out.in_file = out.size();
  return out;
}

std::vector<std::size_t> some_rows(std::size_t n, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    if (is_one_of(most, i, n)) out.push_back(i);
  }
  return out;
}

}  // namespace muffle::report
