#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "rows.hpp"

namespace muffle::report {

/// Rows as places between which distances are taken: of a number, where it stands among some rows' values, so
/// that heavy tails do not decide; of a category, itself. Of what is no table the numbers as they are.
/// Private where the rows are.
class Places {
 public:
  /// @param scale  rows whose values numbers are compared by, column after column; sorted here
  explicit Places(const Rows& scale);

  /// columns x at.size(), a column's places one after the other.
  struct Set {
    std::vector<std::vector<float>> of;
    std::size_t size() const { return of.empty() ? 0 : of[0].size(); }
    std::size_t columns() const { return of.size(); }
  };
  Set of(const Rows& rows, std::span<const std::size_t> at) const;

 private:
  std::vector<std::vector<double>> sorted_;  ///< of numbers of tables
};

/// How far a row's nearest ones are, from 0 (the same) to 1 (nothing in common): the mean over columns of the
/// difference of places, at most 1 each, and 1 where one value is missing or categories differ.
struct Nearest {
  double distance = 0.0;
  std::size_t index = 0;  ///< in the set
};
/// Of each row of `from` its nearest one in `to`.
std::vector<Nearest> nearest(const Places::Set& from, const Places::Set& to, const Heartbeat& heartbeat);

/// Guesses some columns of each row by the nearest ones in `to`, which are looked for by the other columns.
/// @param targets  columns  @param answers  of each target, the class of each row of `to`, 0 ..
/// @returns of each target, of each row of `from`, the class that most of its kNeighbours nearest have
inline constexpr std::size_t kNeighbours = 5;
std::vector<std::vector<std::uint32_t>> guess(const Places::Set& from, const Places::Set& to,
                                              std::span<const std::size_t> targets,
                                              std::span<const std::vector<std::uint32_t>> answers,
                                              const Heartbeat& heartbeat);

}  // namespace muffle::report
