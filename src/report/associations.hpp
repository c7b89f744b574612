#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bins.hpp"
#include "muffle/core/ranks.hpp"
#include "rows.hpp"

namespace muffle::report {

/// Which bin each row's value of each column is in. No more columns than kMostPairColumns.
struct PairCodes {
  std::vector<std::vector<std::uint8_t>> of;  ///< columns x n
  std::vector<std::size_t> sizes;             ///< bins of each column
};
inline constexpr std::size_t kMostPairColumns = 120;
/// @param bins  of the first columns, as many as there are
PairCodes pair_codes(const Rows& rows, std::span<const Bins> bins);

/// The joint shares of two columns, row-major.
std::vector<double> joint_shares(const PairCodes& codes, std::size_t a, std::size_t b);
/// Cramer's V, without the part that so few rows have of themselves (Bergsma, J. Korean Stat. Soc. 42, 2013):
/// 0 independent, 1 one tells the other. @param joint  sizes a x b
double cramers_v(std::span<const double> joint, std::size_t a, std::size_t b, double rows);
/// Half the sum of the differences.
double total_variation(std::span<const double> one, std::span<const double> other);
/// What the joint shares were if the columns knew nothing of each other.
std::vector<double> as_independent(std::span<const double> joint, std::size_t a, std::size_t b);

/// ranks() of some rows, the same as pair_codes().
std::vector<double> ranks_of(const std::vector<double>& values);

}  // namespace muffle::report
