#pragma once

#include <cstdint>
#include <vector>

#include "muffle/privacy/release.hpp"

namespace muffle::test {

/// A plan for the noise of n numbers, of one sigma.
inline std::vector<privacy::NoisePart> one_noise(std::size_t n, std::uint64_t sigma) {
  return {{{{n, 1.0, sigma}}, 1}};
}

}  // namespace muffle::test
