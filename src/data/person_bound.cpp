#include "person_bound.hpp"

#include <sodium.h>

#include <algorithm>

#include "muffle/core/error.hpp"

namespace muffle::data {
namespace {

constexpr std::uint64_t kRecordsABeat = std::uint64_t{1} << 15;
// What is hashed: no text of one kind is one of another.
constexpr char kPerson = 'p', kContent = 'c', kRepeated = 'r';

}  // namespace

std::string new_person_key() { return PrivateHasher::new_key(); }

PersonBound::PersonBound(std::uint64_t most, const std::string& key, std::uint64_t records)
    : most_(most), hasher_(key) {
  require(most_ > 0, "a person bound of no records");
  entries_.reserve(records);
}

void PersonBound::add(const Row& row) {
  const std::uint64_t record = records_++;
  if (row.person.empty() || row.label < 0) return;
  content_.assign(reinterpret_cast<const char*>(&row.label), sizeof row.label);
  content_.append(reinterpret_cast<const char*>(row.floats.data()), row.floats.size() * sizeof(float));
  entries_.push_back({hasher_.hash(kPerson, row.person), hasher_.hash(kContent, content_), record});
}

/// One person's records, sorted: those that hold the same get places of their own in the order, so that
/// each has the same chance.
void PersonBound::tell_apart(std::size_t first, std::size_t end) {
  PrivateDigest content = entries_[first].order;
  std::uint64_t ordinal = 0;
  for (std::size_t i = first + 1; i < end; ++i) {
    if (entries_[i].order != content) {
      content = entries_[i].order;
      ordinal = 0;
      continue;
    }
    entries_[i].order = hasher_.hash(kRepeated, content, ++ordinal);
  }
}

/// Calls visit(record, number) for the records that count, numbers from 1; ends the work.
/// @param in_order  each person's by the order in which they were chosen; else their numbers mean nothing
template <class Visit>
void PersonBound::for_each_kept(bool in_order, const Visit& visit) {
  const auto by_order = [](const Entry& a, const Entry& b) {
    return a.order != b.order ? a.order < b.order : a.record < b.record;
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return a.person != b.person ? a.person < b.person : by_order(a, b);
  });
  for (std::size_t first = 0, end = 0; first < entries_.size(); first = end) {
    while (end < entries_.size() && entries_[end].person == entries_[first].person) ++end;
    if (in_order || end - first > most_) {
      tell_apart(first, end);
      std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(first),
                entries_.begin() + static_cast<std::ptrdiff_t>(end), by_order);
    }
    const std::size_t last = std::min<std::uint64_t>(end, first + most_);
    for (std::size_t i = first; i < last; ++i) visit(entries_[i].record, i - first + 1);
  }
  sodium_memzero(entries_.data(), entries_.size() * sizeof(Entry));
  std::vector<Entry>().swap(entries_);
}

std::vector<bool> PersonBound::kept() {
  std::vector<bool> out(records_, false);
  for_each_kept(false, [&](std::uint64_t record, std::size_t) { out[record] = true; });
  return out;
}

std::vector<std::uint16_t> PersonBound::numbers() {
  std::vector<std::uint16_t> out(records_, 0);
  for_each_kept(true, [&](std::uint64_t record, std::size_t number) {
    out[record] = static_cast<std::uint16_t>(std::min(number, schema::kMostRowsOfAPerson));
  });
  return out;
}

CountedRecords records_that_count(const DataSpec& spec, int rank) {
  const std::unique_ptr<RecordStream> stream = open_records(spec, rank);
  PersonBound bound(spec.records_per_person, spec.person_key.empty() ? new_person_key() : spec.person_key,
                    stream->records());
  Row row;
  for (std::uint64_t record = 0; record < stream->records(); ++record) {
    stream->go_to(record);
    stream->read(row);
    bound.add(row);
    if (record % kRecordsABeat == 0) beat(spec.heartbeat);
  }
  stream->expect_end();
  const auto& table = spec.schema.table;
  if (table && table->counted_person()) return {{}, bound.numbers()};
  return {bound.kept(), {}};
}

}  // namespace muffle::data
