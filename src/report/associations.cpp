#include "associations.hpp"

#include <algorithm>
#include <cmath>

namespace muffle::report {
namespace {

constexpr std::size_t kMostPairRows = 20'000;

void sum_up(std::span<const double> joint, std::size_t a, std::size_t b, std::vector<double>& rows,
            std::vector<double>& columns) {
  rows.assign(a, 0.0);
  columns.assign(b, 0.0);
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) rows[i] += joint[i * b + j], columns[j] += joint[i * b + j];
  }
}

}  // namespace

PairCodes pair_codes(const Rows& rows, std::span<const Bins> bins) {
  PairCodes out;
  const std::vector<std::size_t> at = some_rows(rows.size(), kMostPairRows);
  for (std::size_t j = 0; j < bins.size(); ++j) {
    out.sizes.push_back(bins[j].count());
    std::vector<std::uint8_t>& codes = out.of.emplace_back();
    codes.reserve(at.size());
    for (const std::size_t i : at) codes.push_back(static_cast<std::uint8_t>(bins[j].of(rows.values[j][i])));
  }
  return out;
}

std::vector<double> joint_shares(const PairCodes& codes, std::size_t a, std::size_t b) {
  std::vector<double> out(codes.sizes[a] * codes.sizes[b], 0.0);
  const auto& one = codes.of[a];
  const auto& other = codes.of[b];
  for (std::size_t i = 0; i < one.size(); ++i) out[one[i] * codes.sizes[b] + other[i]] += 1.0;
  for (double& share : out) share /= static_cast<double>(one.size());
  return out;
}

double cramers_v(std::span<const double> joint, std::size_t a, std::size_t b, double n) {
  std::vector<double> rows, columns;
  sum_up(joint, a, b, rows, columns);
  double phi = -1.0, used_a = 0, used_b = 0;
  for (const double share : rows) used_a += share > 0 ? 1.0 : 0.0;
  for (const double share : columns) used_b += share > 0 ? 1.0 : 0.0;
  if (used_a < 2 || used_b < 2 || n < 2) return 0.0;
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      if (joint[i * b + j] > 0) phi += joint[i * b + j] * joint[i * b + j] / (rows[i] * columns[j]);
    }
  }
  const double above = std::max(0.0, phi - (used_a - 1) * (used_b - 1) / (n - 1));
  const double ra = used_a - (used_a - 1) * (used_a - 1) / (n - 1),
               rb = used_b - (used_b - 1) * (used_b - 1) / (n - 1);
  const double most = std::min(ra, rb) - 1;
  return most > 0 ? std::min(1.0, std::sqrt(above / most)) : 0.0;
}

double total_variation(std::span<const double> one, std::span<const double> other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::fabs(one[i] - other[i]);
  return sum / 2;
}

std::vector<double> as_independent(std::span<const double> joint, std::size_t a, std::size_t b) {
  std::vector<double> rows, columns, out(joint.size());
  sum_up(joint, a, b, rows, columns);
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) out[i * b + j] = rows[i] * columns[j];
  }
  return out;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> some;
  for (const std::size_t i : some_rows(values.size(), kMostPairRows)) some.push_back(values[i]);
  return ranks(some);
}

}  // namespace muffle::report
