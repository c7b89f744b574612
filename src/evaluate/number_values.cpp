#include "number_values.hpp"

#include <algorithm>

#include "muffle/core/spread.hpp"
#include "muffle/schema/date_differences.hpp"

namespace muffle::evaluate {

std::vector<NumberColumn> numbers_of(const schema::Table& table) {
  std::vector<NumberColumn> out;
  const std::vector<std::size_t> features = table.features();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const schema::Column& column = table.columns[c];
    const auto at = std::ranges::find(features, c);
    if (!column.is_number() || (at == features.end() && !column.derived)) continue;
    out.push_back({c, {}, schema::ColumnText(column)});
    if (at != features.end()) out.back().at = static_cast<std::size_t>(at - features.begin());
  }
  return out;
}

std::vector<std::vector<double>> values_of(const data::DataSpec& spec, std::span<const NumberColumn> columns,
                                           std::uint64_t most, const Heartbeat& heartbeat) {
  constexpr std::size_t kRowsRead = 4096;
  const auto source = data::open_shard(spec, 0, 1);
  const std::size_t dims = spec.schema.dims();
  const schema::RowNumbers rows(*spec.schema.table);
  std::vector<std::vector<double>> out(columns.size());
  data::Batch batch;
  std::uint64_t row = 0;
  for (;;) {
    source->next(kRowsRead, batch);
    if (batch.n == 0) return out;
    beat(heartbeat);
    for (std::size_t r = 0; r < batch.n; ++r, ++row) {
      if (batch.y[r] == schema::kNoClass || !is_one_of(most, row, source->shard_size())) continue;
      const auto record = std::span<const float>(batch.x).subspan(r * dims, dims);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const NumberColumn& number = columns[c];
        out[c].push_back(
            number.at ? number.text.number(schema::cell_at(record[*number.at], number.text.column().codes()))
                      : rows.number(number.column, record));
      }
    }
  }
}

}  // namespace muffle::evaluate
