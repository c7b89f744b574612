#pragma once

#include <cstdint>
#include <string>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// More digits a number of 64 bits does not fill.
inline constexpr int kMostKeyDigits = 18;

/// Writes the keys of a column (ColumnType::kKey, or people with Column::rows): prefix, a number, suffix.
/// Numbers that differ make keys that differ. Nothing of a record is in them. Immutable.
class KeyText {
 public:
  explicit KeyText(const Column& column);

  /// The largest number that has a key: 10^digits - 1.
  std::uint64_t largest() const;
  /// @param number  at most largest()
  void write(std::uint64_t number, std::string& out) const;

 private:
  std::string prefix_, suffix_;
  int digits_;
};

}  // namespace muffle::schema
