#include "muffle/schema/person_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"

namespace muffle::schema {
namespace {

constexpr std::uint32_t kPlaceStream = 0, kNameStream = 1;  ///< substreams
constexpr std::uint64_t kFeistelRounds = 6;

/// Whole numbers of people, with so many rows in all: each share rounded down, then the numbers of rows that
/// lack most, as long as they fit.
std::vector<std::uint64_t> whole_people(std::span<const double> shares, std::uint64_t rows) {
  require(std::ranges::all_of(shares, [](double p) { return p >= 0; }), "a share of people below 0");
  double mean = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) mean += static_cast<double>(k + 1) * shares[k];
  require(mean > 0, "no share of people is above 0");
  std::vector<std::uint64_t> out;
  std::vector<double> lacks;
  std::uint64_t left = rows;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double wanted = static_cast<double>(rows) * shares[k] / mean;
    const auto whole = std::min(static_cast<std::uint64_t>(wanted), left / (k + 1));
    out.push_back(whole);
    lacks.push_back(wanted - static_cast<double>(whole));
    left -= whole * (k + 1);
  }
  while (left > 0) {
    const std::size_t fit = std::min<std::uint64_t>(left, shares.size());
    const auto most = static_cast<std::size_t>(
        std::max_element(lacks.begin(), lacks.begin() + static_cast<std::ptrdiff_t>(fit)) - lacks.begin());
    ++out[most];
    lacks[most] -= 1;
    left -= most + 1;
  }
  return out;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t seed, std::uint32_t substream)
    : n_(n), stream_(seed, Stream::kPeople, substream) {
  require(n < std::uint64_t{1} << 62, "a permutation of too many");
  half_ = std::max(1, (static_cast<int>(std::bit_width(n)) + 1) / 2);
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  require(i < n_, "a permutation is asked for a place that it has not");
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  do {
    std::uint64_t left = i >> half_, right = i & mask;
    for (std::uint64_t round = 0; round < kFeistelRounds; ++round) {
      const std::uint64_t next = left ^ (stream_.bits(round << 32 | right) & mask);
      left = right;
      right = next;
    }
    i = left << half_ | right;
  } while (i >= n_);
  return i;
}

PersonRows::PersonRows(std::span<const double> people, std::uint64_t rows, std::uint64_t seed)
    : people_(whole_people(people, rows)),
      persons_(sum_of(people_)),
      places_(rows, seed, kPlaceStream),
      names_(persons_, seed, kNameStream) {}

PersonRows::Place PersonRows::at(std::uint64_t row) const {
  std::uint64_t place = places_(row), before = 0;
  for (std::size_t k = 0; k < people_.size(); ++k) {
    const std::uint64_t each = k + 1;
    if (place < people_[k] * each) return {names_(before + place / each), place % each};
    place -= people_[k] * each;
    before += people_[k];
  }
  throw InvariantError("a row of nobody: this is a bug in muffle");
}

}  // namespace muffle::schema
