#include "muffle/data/people.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

std::vector<std::uint64_t> people_by_records(DataSpec spec, std::size_t most) {
  require(most > 0 && spec.schema.table && spec.schema.table->person(),
          "people are counted of a table that has them");
  constexpr std::uint64_t kBetweenBeats = std::uint64_t{1} << 15;
  spec.records_per_person = most;  // their column is read
  const std::unique_ptr<RecordStream> stream = open_records(spec);
  std::unordered_map<std::string, std::size_t> records;
  Row row;
  for (std::uint64_t record = 0; record < stream->records(); ++record) {
    stream->go_to(record);
    stream->read(row);
    if (!row.person.empty() && row.label >= 0) ++records[row.person];
    if (record % kBetweenBeats == 0) beat(spec.heartbeat);
  }
  std::vector<std::uint64_t> out(most, 0);
  for (const auto& [person, own] : records) ++out[std::min(own, most) - 1];
  return out;
}

std::vector<double> shares_of_people(const std::vector<std::uint64_t>& people) {
  const auto all = static_cast<double>(std::accumulate(people.begin(), people.end(), std::uint64_t{0}));
  std::vector<double> out;
  for (const std::uint64_t own : people) out.push_back(all > 0 ? static_cast<double>(own) / all : 0.0);
  return out;
}

}  // namespace muffle::data
