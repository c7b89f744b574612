#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/schema/notation.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::data {

/// A date or time in a format that fields are in.
struct TimeReading {
  schema::ColumnType type;
  std::string format;   ///< "": muffle's own
  double lo, hi;        ///< of the fields; of years of two digits nothing that counts
  bool firsts = false;  ///< many dates, each the first of a month
};

/// Which formats the fields of a column fit as dates or times: for drafts of schemas.
class TimeGuess {
 public:
  /// @param field  not a missing value
  void look_at(std::string_view field);
  /// All orders of year, month and day that fit every field, each with the spelling that most are in. More
  /// than one: nothing tells them apart. Times that are all midnight
  /// are dates, and fractions, seconds and minutes that are all 0 are written so.
  std::vector<TimeReading> readings() const;

 private:
  struct Candidate {
    schema::ColumnType type;
    std::string order;  ///< of the date: "dmY"
    std::string text;
    schema::TimeFormat format;
    std::uint64_t hits = 0, exact = 0;  ///< fields that it reads, and those that it writes just so
    bool midnight = true, hours = true, minutes = true, seconds = true,
         firsts = true;  ///< all are, of a day or month
    double lo, hi;
  };

  void add_formats_of(std::string_view field);
  void try_on(Candidate& candidate, std::string_view field) const;
  void add(schema::ColumnType type, const std::string& order, const std::string& text);

  std::vector<Candidate> candidates_;
  std::vector<std::string> early_;  ///< the first fields
  std::uint64_t count_ = 0;
  bool compact_ = true;  ///< all fields are digits alone
};

}  // namespace muffle::data
