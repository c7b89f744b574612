#include "number_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "distances.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostRows = 500;

/// In five digits, large ones whole.
std::string digits(double value) {
  const double size = std::fabs(value);
  return size >= 1e4 && size < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
}

/// Dates as such.
std::string told(const Column& column, double value) {
  return column.schema && column.schema->is_temporal() ? column.short_text(value) : digits(value);
}

/// A difference of dates is days, of times of day hours and minutes.
std::string spread(const Column& column, double deviation) {
  if (!column.schema || !column.schema->is_temporal()) return digits(deviation);
  if (column.schema->type == schema::ColumnType::kTime) {
    const auto minutes = std::lround(deviation / 60);
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  }
  return fmt::format("{:.4g} d", column.schema->type == schema::ColumnType::kDatetime
                                     ? deviation / schema::kSecondsADay
                                     : deviation);
}

std::vector<std::string> row_of(std::string name, const Column& column, const std::vector<double>& values) {
  std::vector<std::string> out{std::move(name)};
  const std::vector<double> sorted = values_in_order(values);
  if (sorted.empty()) {
    out.resize(8, "-");
    return out;
  }
  double mean = 0, squares = 0;
  const auto n = static_cast<double>(sorted.size());
  for (const double v : sorted) mean += v / n;
  for (const double v : sorted) squares += (v - mean) * (v - mean) / n;
  out.push_back(told(column, mean));
  out.push_back(spread(column, std::sqrt(squares)));
  for (const double q : {0.0, 0.05, 0.5, 0.95, 1.0})
    out.push_back(told(column, sorted[static_cast<std::size_t>(std::lround(q * (n - 1)))]));
  return out;
}

}  // namespace

TextTable number_table(const Rows& samples, const Rows* real) {
  TextTable table{{"number", "mean", "standard deviation", "least", "5 %", "median", "95 %", "largest"}, {}};
  for (std::size_t j = 0; j < samples.columns.size() && table.rows.size() < kMostRows; ++j) {
    const Column& column = samples.columns[j];
    if (!column.is_number) continue;
    table.rows.push_back(
        row_of(column.name + (real != nullptr ? ", synthetic" : ""), column, samples.values[j]));
    if (real != nullptr) table.rows.push_back(row_of("real", column, real->values[j]));
  }
  return table;
}

}  // namespace muffle::report
