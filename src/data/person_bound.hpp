#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "muffle/core/private_digest.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// Enforces that of each person at most so many records count: those that come first by a keyed hash of what
/// they hold, and of how many like them came before. Which of a person's records count depends on that
/// person's records alone, not on their order, their files or when they were read, so that one person changes
/// at most so many of the records that count.
///
/// The key is random and secret, and neither it nor a hash leaves this object (PrivateDigest). Two people
/// whose 64-bit hashes agree share the bound between them; that this befalls a given person among n has a
/// probability of n / 2^64, far below any delta.
/// Memory: 24 bytes a record until kept() or numbers() is called, then a bit or two bytes a record.
class PersonBound {
 public:
  /// @param most     records a person, at least 1
  /// @param key      new_person_key()
  /// @param records  about how many will come
  PersonBound(std::uint64_t most, const std::string& key, std::uint64_t records);

  /// The next record. One without a person or a label never counts.
  void add(const Row& row);
  /// Which of the records count, in the order in which they came. Ends the work.
  std::vector<bool> kept();
  /// The same, and which of their person's records they are: those of one person that count have the numbers
  /// 1, 2, .. in the order by which they were chosen (no number is above
  /// schema::kMostRowsOfAPerson), the others 0. Ends the work.
  std::vector<std::uint16_t> numbers();

 private:
  struct Entry {
    PrivateDigest person, order;
    std::uint64_t record;
  };

  void tell_apart(std::size_t first, std::size_t end);
  template <class Visit>
  void for_each_kept(bool in_order, const Visit& visit);

  std::uint64_t most_;
  PrivateHasher hasher_;
  std::vector<Entry> entries_;
  std::uint64_t records_ = 0;
  std::string content_;
};

/// Which of a rank's records count. Private.
struct CountedRecords {
  std::vector<bool> kept;              ///< PersonBound::kept(); or
  std::vector<std::uint16_t> numbers;  ///< PersonBound::numbers(), where the schema counts them

  std::size_t size() const { return kept.size() + numbers.size(); }
  bool empty() const { return size() == 0; }
  bool counts(std::uint64_t record) const { return numbers.empty() ? kept[record] : numbers[record] > 0; }
};

/// Goes over all the records that spec names on this rank. @throws as open_records() and
/// RecordStream::read().
CountedRecords records_that_count(const DataSpec& spec, int rank);

}  // namespace muffle::data
