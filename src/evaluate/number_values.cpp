#include "number_values.hpp"

#include "muffle/core/spread.hpp"

namespace muffle::evaluate {

std::vector<NumberColumn> numbers_of(const schema::Table& table) {
  std::vector<NumberColumn> out;
  const std::vector<std::size_t> features = table.features();
  for (std::size_t j = 0; j < features.size(); ++j) {
    if (table.columns[features[j]].is_number())
      out.push_back({j, schema::ColumnText(table.columns[features[j]])});
  }
  return out;
}

std::vector<std::vector<double>> values_of(const data::DataSpec& spec, std::span<const NumberColumn> columns,
                                           std::uint64_t most, const Heartbeat& heartbeat) {
  constexpr std::size_t kRowsRead = 4096;
  const auto source = data::open_shard(spec, 0, 1);
  const std::size_t dims = spec.schema.dims();
  std::vector<std::vector<double>> out(columns.size());
  data::Batch batch;
  std::uint64_t row = 0;
  for (;;) {
    source->next(kRowsRead, batch);
    if (batch.n == 0) return out;
    beat(heartbeat);
    for (std::size_t r = 0; r < batch.n; ++r, ++row) {
      if (batch.y[r] == schema::kNoClass || !is_one_of(most, row, source->shard_size())) continue;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const NumberColumn& number = columns[c];
        out[c].push_back(
            number.text.number(schema::cell_at(batch.x[r * dims + number.at], number.text.column().codes())));
      }
    }
  }
}

}  // namespace muffle::evaluate
