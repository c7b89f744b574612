#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/schema/notation.hpp"
#include "number_grid.hpp"

namespace muffle::data {

/// Numbers in a notation that fields are in.
struct MarkReading {
  schema::Notation notation;
  NumberGrid grid;
  bool has_decimals = false, has_thousands = false;  ///< their marks occur
};

/// In which notations the fields of a column are numbers: decimal comma, thousands marks, signs of currencies
/// and units, negative ones, and a code for what is above or below: for drafts of schemas.
class MarkGuess {
 public:
  MarkGuess();
  /// @param field  not a missing value
  void look_at(std::string_view field);
  /// What fits all fields, without marks that occur nowhere. More than one: a mark may be either.
  std::vector<MarkReading> readings() const;
  /// Of fields whose mark may be either, some have none, and less than four digits: as thousands have.
  bool looks_like_thousands() const { return marked_ >= kMostlyMarked && small_ > 0 && large_ == 0; }

 private:
  static constexpr std::uint64_t kMostlyMarked = 30;

  struct Candidate {
    schema::Notation notation;  ///< of the marks alone
    schema::NumberText text;
    bool fits = true, has_decimals = false, has_thousands = false;
    NumberGrid grid;
  };

  static constexpr std::size_t kMostCodes = 2;

  bool take_codes(schema::Notation& notation) const;
  bool take_affixes(std::string_view& field, bool& negative);

  std::vector<Candidate> candidates_;
  bool begun_ = false, fits_ = true;
  bool inside_ = false;  ///< the sign of negative ones stands within prefix and suffix
  std::string prefix_, suffix_, negative_ = "-1", thousands_;
  std::set<std::string, std::less<>> codes_;  ///< perhaps: texts that are no numbers, kMostCodes at most
  std::uint64_t marked_ = 0, small_ = 0, large_ = 0;
};

}  // namespace muffle::data
