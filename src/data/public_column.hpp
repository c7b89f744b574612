#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "column_guess.hpp"
#include "muffle/schema/draft.hpp"

namespace muffle::data {

inline constexpr const char* kAreCodes =
    "a few numbers over a wide range: codes. If they are amounts: type = \"integer\"";
inline constexpr const char* kHasWords =
    "a few texts stand among its numbers, and are taken for missing values: check that they are no total and "
    "no unit";
/// The note of a column whose fields have this form (ColumnGuess::unknown_shape()).
std::string unknown_note(const std::string& shape);
/// One choice is none: it is taken.
void settle(std::vector<schema::DraftColumn> choices, schema::DraftColumn& column);

/// What a column of a public file holds.
class PublicColumn {
 public:
  void look_at(std::string_view field);
  const ColumnGuess& guess() const { return guess_; }
  /// Type, notation, bounds, categories and missing values; several choices where nothing tells them apart.
  void fill(const FileMarks& marks, schema::DraftColumn& column) const;

 private:
  void take(const Reading& reading, schema::DraftColumn& column) const;

  ColumnGuess guess_;
  std::set<std::string> values_, missing_;
};

}  // namespace muffle::data
