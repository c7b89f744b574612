#include "people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "associations.hpp"
#include "muffle/data/people.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostNumbersListed = 50;

std::string percent(const std::vector<double>& shares, std::size_t k) {
  return shares.empty() ? "-" : fmt::format("{:.2f} %", 100 * shares[k]);
}

}  // namespace

schema::Schema without_rows(schema::Schema schema) {
  if (schema.table && schema.table->counted_person())
    describe_table(schema,
                   std::make_shared<const schema::Table>(schema::with_rows_not_counted(*schema.table)));
  return schema;
}

std::optional<PublicPeople> public_people(const schema::Schema& released, const release::NoisyTables& tables,
                                          const data::DataSpec* samples) {
  const auto person = released.table ? released.table->counted_person() : std::nullopt;
  if (!person || !tables.row_number) return std::nullopt;
  const schema::Column& column = released.table->columns[*person];
  PublicPeople out{column.name, std::vector<double>(column.rows, 0.0), 0.0, {}};
  double precisions = 0;
  for (const release::NoisyTable& table : tables.tables) {
    if (table.columns != std::vector{*tables.row_number} || table.cells() != column.rows) continue;
    const double precision = 1.0 / (table.sigma * table.sigma * static_cast<double>(tables.classes));
    for (std::size_t at = 0; at < table.counts.size(); ++at)
      out.at_least[at % column.rows] += precision * table.counts[at];
    precisions += precision;
  }
  if (!(precisions > 0)) return std::nullopt;
  for (double& count : out.at_least) count /= precisions;
  out.sigma = 1.0 / std::sqrt(precisions);
  if (samples != nullptr) out.samples = real_people(released, *samples);
  return out;
}

std::vector<double> real_people(const schema::Schema& released, data::DataSpec spec) {
  const std::size_t most = released.table->columns[released.table->person().value()].rows;
  spec.schema = without_rows(released);
  return data::shares_of_people(data::people_by_records(std::move(spec), most));
}

void add_people(const PublicPeople& people, const std::vector<double>& real,
                const std::vector<double>& held_out, Page& page) {
  const std::size_t most = people.at_least.size();
  page.heading("Rows of a person");
  TextTable table{{"rows", "people with at least so many: the release", "synthetic people with so many"}, {}};
  if (!real.empty()) table.header.insert(table.header.end(), {"real people", "held-out people"});
  for (std::size_t k = 0; k < std::min(most, kMostNumbersListed); ++k) {
    table.rows.push_back({k + 1 < most ? std::to_string(k + 1) : fmt::format("{} or more", most),
                          fmt::format("{:.0f} +- {:.0f}", people.at_least[k], people.sigma),
                          percent(people.samples, k)});
    if (!real.empty())
      table.rows.back().insert(table.rows.back().end(), {percent(real, k), percent(held_out, k)});
  }
  page.table(table);
  std::string note = fmt::format(
      "Whose a row is ('{}') is not released: how many people have how many rows is, and no more than {} of "
      "anybody count. Rows of one synthetic person are independent of one another: what such people would "
      "have in common they have not.",
      people.column, most);
  if (!real.empty() && !people.samples.empty()) {
    note += fmt::format(" Total variation of the shares of real and synthetic people: {:.3f}",
                        total_variation(real, people.samples));
    note +=
        held_out.empty() ? "." : fmt::format("; of held-out ones: {:.3f}.", total_variation(real, held_out));
  }
  page.note(note);
}

}  // namespace muffle::report
