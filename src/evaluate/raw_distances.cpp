#include "raw_distances.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "muffle/schema/table_text.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kRowsRead = 4096, kColumnsAtOnce = 16;

struct Number {
  std::size_t at;  ///< number of a record
  schema::ColumnText text;
};

/// Each column's values.
std::vector<std::vector<double>> values_of(const data::DataSpec& spec, std::span<const Number> columns,
                                           const Heartbeat& heartbeat) {
  const auto source = data::open_shard(spec, 0, 1);
  const std::size_t dims = spec.schema.dims();
  std::vector<std::vector<double>> out(columns.size());
  data::Batch batch;
  for (;;) {
    source->next(kRowsRead, batch);
    if (batch.n == 0) return out;
    beat(heartbeat);
    for (std::size_t r = 0; r < batch.n; ++r) {
      if (batch.y[r] == schema::kNoClass) continue;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const Number& number = columns[c];
        const double value =
            number.text.number(schema::cell_at(batch.x[r * dims + number.at], number.text.column().codes()));
        if (!std::isnan(value)) out[c].push_back(value);
      }
    }
  }
}

}  // namespace

RawDistance raw_distance(std::vector<double> one, std::vector<double> other, double width) {
  if (one.empty() || other.empty()) {
    const double far = one.empty() == other.empty() ? 0.0 : 1.0;
    return {0, far, far};
  }
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  RawDistance out;
  double area = 0, last = std::min(one.front(), other.front()), apart = 0;
  for (std::size_t i = 0, j = 0; i < one.size() || j < other.size();) {
    const double at = j == other.size() || (i < one.size() && one[i] <= other[j]) ? one[i] : other[j];
    area += apart * (at - last);
    last = at;
    while (i < one.size() && one[i] == at) ++i;
    while (j < other.size() && other[j] == at) ++j;
    apart = std::fabs(static_cast<double>(i) / static_cast<double>(one.size()) -
                      static_cast<double>(j) / static_cast<double>(other.size()));
    out.ks = std::max(out.ks, apart);
  }
  out.wasserstein = width > 0 ? area / width : 0.0;
  return out;
}

std::vector<RawDistance> raw_distances(const data::DataSpec& one, const data::DataSpec& other,
                                       const Heartbeat& heartbeat) {
  std::vector<Number> numbers;
  const schema::Table& table = *one.schema.table;
  const std::vector<std::size_t> features = table.features();
  for (std::size_t j = 0; j < features.size(); ++j) {
    if (table.columns[features[j]].is_number())
      numbers.push_back({j, schema::ColumnText(table.columns[features[j]])});
  }
  std::vector<RawDistance> out;
  for (std::size_t from = 0; from < numbers.size(); from += kColumnsAtOnce) {
    const auto some = std::span(numbers).subspan(from, std::min(kColumnsAtOnce, numbers.size() - from));
    std::vector<std::vector<double>> real = values_of(one, some, heartbeat),
                                     made = values_of(other, some, heartbeat);
    for (std::size_t c = 0; c < some.size(); ++c) {
      const schema::Column& column = some[c].text.column();
      out.push_back(raw_distance(std::move(real[c]), std::move(made[c]), column.hi - column.lo));
      out.back().column = some[c].at;
    }
  }
  return out;
}

}  // namespace muffle::evaluate
