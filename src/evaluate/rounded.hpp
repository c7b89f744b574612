#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/evaluate/metric.hpp"

// With all its digits a score of real records tells how many there are, and tells them apart from others.
namespace muffle::evaluate {

/// How finely scores are written, in metrics.json and in tables.
struct Fineness {
  int decimals = 4;  ///< of shares
  int digits = 3;    ///< significant ones, of what knows no bounds

  double share(double share) const {
    const double steps = std::pow(10.0, decimals);
    return std::round(share * steps) / steps;
  }
  double number(double number) const { return std::stod(fmt::format("{:.{}e}", number, digits - 1)); }
  /// As cells of a table. @param at  Cell::at
  Cell share_cell(double value, std::vector<std::string> at = {}) const {
    return {share(value), fmt::format("{:.{}f}", value, decimals), std::move(at)};
  }
  Cell number_cell(double value, std::vector<std::string> at = {}) const {
    return {number(value), fmt::format("{:.{}g}", value, digits), std::move(at)};
  }
};

/// What is not of real records: schema, settings, how many there are of them.
inline Cell count_cell(std::uint64_t count, std::vector<std::string> at = {}) {
  return {count, std::to_string(count), std::move(at)};
}

/// Of what reads the release's own records: shares of them to four decimals tell how many there are.
inline Fineness fineness_of_own(const Subject& subject) {
  return subject.m_is_private() ? Fineness{2, 2} : Fineness{};
}

}  // namespace muffle::evaluate
