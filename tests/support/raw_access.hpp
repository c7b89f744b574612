#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "support/one_noise.hpp"

namespace muffle::embed {

/// Looks at the un-noised sums. In tests only: the product has no such door.
struct TestAccess {
  static const std::vector<std::uint64_t>& values(const PartialSum& partial) { return partial.sums_.values; }
  static PartialSum make(std::vector<std::uint64_t> sums) {
    PartialSum partial(0);
    partial.sums_.values = std::move(sums);
    return partial;
  }
};

}  // namespace muffle::embed

namespace muffle::test {

/// The values of a reduced sum, by the only way there is: it is published with seeded noise, and whoever
/// knows the seed subtracts the noise.
inline std::vector<std::uint64_t> reveal(privacy::RawSum&& raw, std::size_t n) {
  constexpr std::uint64_t kSeed = 1, kSigma = 1;
  const auto entropy = privacy::insecure_seeded_entropy(kSeed),
             same_entropy = privacy::insecure_seeded_entropy(kSeed);
  privacy::NoiseVector noise(one_noise(n, kSigma), *entropy);
  const std::vector<std::int64_t> known = privacy::draw_noise(one_noise(n, kSigma), *same_entropy);
  const privacy::NoisySum noisy = std::move(noise).publish(std::move(raw));
  std::vector<std::uint64_t> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<std::uint64_t>(noisy.values[i]) - static_cast<std::uint64_t>(known[i]);
  }
  return values;
}

/// The sum over all ranks, on root; empty elsewhere.
inline privacy::RawSum reduce_to_root(comm::HostComm& comm, embed::PartialSum&& partial) {
  const std::vector<std::uint64_t>& mine = embed::TestAccess::values(partial);
  std::vector<std::uint64_t> sum(comm.is_root() ? mine.size() : 0);
  comm.reduce_sum(mine, sum, 0);
  return privacy::RawSum(std::move(sum));
}

inline std::string sha256_of(const std::vector<std::uint64_t>& values) {
  return to_hex(sha256(PublicBytes(std::as_bytes(std::span(values)))));
}

}  // namespace muffle::test
