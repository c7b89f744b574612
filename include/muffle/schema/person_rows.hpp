#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/core/philox.hpp"

namespace muffle::schema {

/// A permutation of 0 .. n-1 as a pure function of a seed, each place by itself: a Feistel network of
/// Philox's bits over the next power of 4, walked until it is within n (Black & Rogaway, CT-RSA 2002). Never
/// used for privacy. Thread-safe.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t seed, std::uint32_t substream);
  /// @param i  below n
  std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t n_;
  int half_ = 1;  ///< bits of either side
  CounterStream stream_;
};

/// Which made-up person each row of a sample is of. Shares of people are met as closely as whole numbers
/// allow; a person's rows lie anywhere among the sample's, and a person's number says nothing of how many
/// they are. A pure function of its arguments: a row knows its person without looking at others. Public.
class PersonRows {
 public:
  /// @param people  shares of people with 1, 2, .. rows; some above 0
  /// @param rows    of the sample, all its files
  PersonRows(std::span<const double> people, std::uint64_t rows, std::uint64_t seed);

  struct Place {
    std::uint64_t person = 0;  ///< 0 .. persons() - 1
    std::size_t number = 0;    ///< which of that person's rows, from 0
  };
  /// @param row  from 0
  Place at(std::uint64_t row) const;
  std::uint64_t persons() const { return persons_; }
  /// Of each number of rows, 1, 2, .., how many people have it.
  const std::vector<std::uint64_t>& people() const { return people_; }

 private:
  std::vector<std::uint64_t> people_;
  std::uint64_t persons_ = 0;
  Permutation places_, names_;
};

}  // namespace muffle::schema
