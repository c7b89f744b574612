#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "muffle/round/secure_sum.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::test {

/// What rank r contributes: anything of 64 bits, so that sums wrap; odd ranks of "half empty" rounds are
/// shards without a record.
inline std::vector<std::uint64_t> contribution(int rank, std::size_t n, bool half_empty = false) {
  std::vector<std::uint64_t> values(n, 0);
  if (half_empty && rank % 2 == 1) return values;
  const CounterStream stream(static_cast<std::uint64_t>(rank) + 1, Stream::kTest);
  for (std::size_t i = 0; i < n; ++i) values[i] = stream.bits(i);
  return values;
}

/// Lengths around the chunk of the mask's generator and none at all.
inline const std::vector<std::size_t> kLengths{0, 1, 7, 8191, 8192, 8193, 3 * 8192 + 5};

/// The secure sum of these contributions is the plain sum, bit for bit, on root; elsewhere there is none.
inline void expect_same_as_plain(comm::HostComm& comm, std::size_t n, bool half_empty,
                                 const crypto::SiteIdentity* identity = nullptr) {
  const std::vector<std::uint64_t> mine = contribution(comm.rank(), n, half_empty);
  std::vector<std::uint64_t> plain(comm.is_root() ? n : 0), local(plain.size(), 0);
  comm.reduce_sum(mine, plain, 0);
  for (int r = 0; comm.is_root() && r < comm.size(); ++r) {
    const auto theirs = contribution(r, n, half_empty);
    for (std::size_t i = 0; i < n; ++i) local[i] += theirs[i];
  }
  ASSERT_EQ(plain, local);
  round::SecureSum sum(comm, {n, "case", identity});
  EXPECT_EQ(sum.is_signed(), identity != nullptr);
  EXPECT_EQ(std::move(sum).reduce_to_root(std::vector<std::uint64_t>(mine)), plain) << n << " numbers";
}

}  // namespace muffle::test
