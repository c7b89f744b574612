#include "marginals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kRowsABatch = 4096;

/// Which group each code of a feature is in; empty: the codes themselves.
using Groups = std::vector<std::uint32_t>;

/// A batch's codes, column after column, and how many rows.
struct Codes {
  std::vector<std::vector<std::uint32_t>> of;
  std::size_t rows = 0;
};

/// @returns how many rows were counted. @throws DataError  none is: there are none, or none fits.
template <class Count>
std::uint64_t for_batches(const data::DataSpec& spec, const std::vector<Groups>& groups,
                          const Heartbeat& heartbeat, const Count& count) {
  const std::vector<std::size_t> codes = spec.schema.table->codes();
  const auto source = data::open_shard(spec, 0, 1);
  const std::size_t dims = spec.schema.dims();
  const bool labelled = spec.schema.classes > 1;
  data::Batch batch;
  Codes out;
  out.of.assign(dims + (labelled ? 1 : 0), std::vector<std::uint32_t>(kRowsABatch));
  std::uint64_t rows = 0;
  for (;;) {
    source->next(kRowsABatch, batch);
    if (batch.n == 0) break;
    beat(heartbeat);
    out.rows = 0;
    for (std::size_t r = 0; r < batch.n; ++r) {
      if (batch.y[r] == schema::kNoClass) continue;
      for (std::size_t j = 0; j < dims; ++j) {
        const std::uint32_t code = schema::cell_at(batch.x[r * dims + j], codes[j]).code;
        out.of[j][out.rows] = groups[j].empty() ? code : groups[j][code];
      }
      if (labelled) out.of[dims][out.rows] = static_cast<std::uint32_t>(batch.y[r]);
      ++out.rows;
    }
    rows += out.rows;
    count(out);
  }
  if (rows > 0) return rows;
  throw DataError(
      source->shard_size() == 0
          ? fmt::format("a table without rows cannot be compared: '{}' has none.", spec.features)
          : fmt::format("'{}' has rows, but none fits the schema: their labels are none of its values, "
                        "or fields are missing. `muffle check` says which.",
                        spec.features));
}

struct Counted {
  const std::vector<std::size_t>* columns;
  std::vector<std::uint32_t> one, other;
};

void count_rows(const Codes& rows, std::span<const std::size_t> columns, std::span<const std::size_t> codes,
                std::vector<std::uint32_t>& cells) {
  std::vector<std::size_t> at(rows.rows, 0);
  for (const std::size_t j : columns) {
    for (std::size_t r = 0; r < rows.rows; ++r) at[r] = at[r] * codes[j] + rows.of[j][r];
  }
  for (const std::size_t cell : at) ++cells[cell];
}

/// Of the features: the grids' cells of columns whose bins are learned, grouped by these records. (They are
/// the real ones: the distances that come of it are no more public than they were.)
std::vector<Groups> compared_groups(const data::DataSpec& real, const Heartbeat& heartbeat) {
  const schema::Table& table = *real.schema.table;
  const std::vector<std::size_t> features = table.features();
  std::vector<Groups> out(features.size());
  if (std::none_of(features.begin(), features.end(), [&](std::size_t j) { return table.columns[j].learned; }))
    return out;
  std::vector<std::vector<double>> counts;
  for (const std::size_t j : features) counts.emplace_back(table.columns[j].codes());
  for_batches(real, out, heartbeat, [&](const Codes& batch) {
    for (std::size_t j = 0; j < features.size(); ++j) {
      for (std::size_t r = 0; r < batch.rows; ++r) ++counts[j][batch.of[j][r]];
    }
  });
  for (std::size_t j = 0; j < features.size(); ++j) {
    const schema::Column& column = table.columns[features[j]];
    if (column.learned) out[j] = groups_of(counts[j], column.bins());
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> groups_of(std::span<const double> counts, std::size_t bins) {
  double all = 0;
  for (std::size_t x = 0; x < bins; ++x) all += counts[x];
  const double enough = all / kMostGroups;
  std::vector<std::uint32_t> out;
  std::uint32_t group = 0;
  double held = 0;
  for (std::size_t x = 0; x < bins; ++x) {
    if (held > 0 && group + 1 < kMostGroups && (held >= enough || counts[x] >= enough)) ++group, held = 0;
    out.push_back(group);
    held += counts[x];
  }
  // Of the missing value the last code, as codes_of_columns() counts them.
  const auto last = static_cast<std::uint32_t>(std::min(bins, kMostGroups));
  if (counts.size() > bins) out.push_back(last);
  return out;
}

std::vector<std::string> names_of_columns(const schema::Table& table) {
  std::vector<std::string> out;
  for (const std::size_t j : table.features()) out.push_back(table.columns[j].name);
  if (const auto label = table.label()) out.push_back(table.columns[*label].name);
  return out;
}

std::vector<std::size_t> codes_of_columns(const schema::Schema& schema) {
  std::vector<std::size_t> codes;
  for (const std::size_t j : schema.table->features()) {
    const schema::Column& column = schema.table->columns[j];
    const std::size_t bins = column.learned ? std::min(column.bins(), kMostGroups) : column.bins();
    codes.push_back(bins + column.codes() - column.bins());
  }
  if (schema.classes > 1) codes.push_back(schema.classes);
  return codes;
}

double cells_of(std::span<const std::size_t> columns, std::span<const std::size_t> codes) {
  double cells = 1;
  for (const std::size_t j : columns) cells *= static_cast<double>(codes[j]);
  return cells;
}

std::vector<std::vector<std::size_t>> column_sets(std::size_t columns, std::size_t size, std::size_t most,
                                                  std::uint64_t seed) {
  if (size > columns) return {};
  double all = 1;
  for (std::size_t i = 0; i < size; ++i)
    all = all * static_cast<double>(columns - i) / static_cast<double>(i + 1);
  std::set<std::vector<std::size_t>> out;
  if (most == 0 || all <= static_cast<double>(most)) {
    std::vector<bool> chosen(columns, false);
    std::fill_n(chosen.begin(), size, true);
    do {
      std::vector<std::size_t> set;
      for (std::size_t j = 0; j < columns; ++j) {
        if (chosen[j]) set.push_back(j);
      }
      out.insert(std::move(set));
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
  } else {
    const CounterStream stream(seed, Stream::kEvaluation);
    for (std::uint64_t draw = 0; out.size() < most; ++draw) {
      std::set<std::size_t> set;  // a set of `size` different ones: draws that repeat are drawn again
      for (std::uint64_t k = 0; set.size() < size; ++k)
        set.insert(stream.below(draw * 1024 + k % 1024, columns));
      out.insert({set.begin(), set.end()});
    }
  }
  return {out.begin(), out.end()};
}

std::vector<SetDistance> total_variation(const data::DataSpec& one, const data::DataSpec& other,
                                         std::span<const std::vector<std::size_t>> sets,
                                         const Heartbeat& heartbeat) {
  const std::vector<std::size_t> codes = codes_of_columns(one.schema);
  const std::vector<Groups> groups = compared_groups(one, heartbeat);
  std::vector<SetDistance> out;
  for (std::size_t next = 0; next < sets.size();) {
    std::vector<Counted> some;
    double cells = 0;
    for (; next < sets.size(); ++next) {
      const double more = cells_of(sets[next], codes);
      require(more <= static_cast<double>(kMostCells), "a set of columns with too many cells");
      if (!some.empty() && cells + more > static_cast<double>(kMostCells)) break;
      cells += more;
      const auto n = static_cast<std::size_t>(more);
      some.push_back({&sets[next], std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n)});
    }
    const auto count = [&](const data::DataSpec& spec, std::vector<std::uint32_t> Counted::*into) {
      return static_cast<double>(for_batches(spec, groups, heartbeat, [&](const Codes& batch) {
        for (Counted& c : some) count_rows(batch, *c.columns, codes, c.*into);
      }));
    };
    const double n_one = count(one, &Counted::one), n_other = count(other, &Counted::other);
    for (const Counted& c : some) {
      double sum = 0;
      for (std::size_t i = 0; i < c.one.size(); ++i)
        sum += std::abs(static_cast<double>(c.one[i]) / n_one - static_cast<double>(c.other[i]) / n_other);
      out.push_back({*c.columns, sum / 2});
    }
  }
  return out;
}

}  // namespace muffle::evaluate
