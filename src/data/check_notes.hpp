#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/data/record_check.hpp"

namespace muffle::data {

/// Collects what a check finds.
class CheckNotes {
 public:
  explicit CheckNotes(std::size_t most_places) : most_places_(most_places) {}

  RecordCheck found;

  void misfit(std::string place) {
    ++found.misfits;
    if (found.places.size() < most_places_) found.places.push_back(std::move(place));
  }
  /// The same of what ends a job under OnError::kClamp, too.
  void refused(std::string place) {
    found.refused = true;
    misfit(std::move(place));
  }
  /// A line of how many misfits of a kind there are, if any.
  void count(std::uint64_t n, std::string line) {
    if (n > 0) found.counts.push_back(std::move(line));
  }

 private:
  std::size_t most_places_;
};

/// A table's files, to their ends. @param spec  with a table  @param arrays  NumPy's files; else CSV
/// @throws IoError.
void check_table(const DataSpec& spec, const std::vector<std::string>& files, bool arrays, CheckNotes& notes);

}  // namespace muffle::data
