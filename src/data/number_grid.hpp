#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace muffle::data {

/// Which grid the numbers of a column lie on, and whether they look like amounts: for drafts of schemas.
class NumberGrid {
 public:
  void look_at(double value, std::string_view field);

  double lo() const { return lo_; }
  double hi() const { return hi_; }
  /// Some were written with exponents.
  bool has_exponents() const { return exponents_; }
  /// So few different whole numbers over so wide a range, seen more than once, are codes of something.
  bool are_codes() const;
  /// If it is more than their last place: 1 of whole numbers that are written "22.0", 100 of round ones.
  std::optional<double> step() const;
  /// Behind the point, as they are written.
  int places() const { return places_; }

 private:
  bool is_whole() const;

  std::uint64_t count_ = 0;
  double lo_ = INFINITY, hi_ = -INFINITY;
  std::set<double> different_;  ///< some more than codes have at most
  bool exponents_ = false;
  int places_ = 0;
  std::int64_t common_ = 0;  ///< of all values in millionths, the largest whole number that divides them
};

/// Numbers in a text count as numbers, and what is below or above them stands there: "<5", "5-9", "10-14",
/// "90+".
bool in_natural_order(const std::string& a, const std::string& b);

}  // namespace muffle::data
