#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/features/block.hpp"

namespace muffle::privacy {

enum class Adjacency {
  kReplaceOne,    ///< one person's records are replaced; m is public (the papers')
  kAddRemoveOne,  ///< one person's records come or go; m is private
};

/// L2 sensitivity of the released sums, in units of the features (1.0 = lattice 2^k), with its derivation.
struct Sensitivity {
  double value = 0.0;
  std::string derivation;  ///< printed in the privacy statement
};

struct SensitivityInput {
  std::vector<features::BlockBound> blocks;
  Adjacency adjacency = Adjacency::kReplaceOne;
  bool counts = false;            ///< class counts, scaled by counts_weight, are released beside the blocks
  double counts_weight = 0.0;     ///< lambda
  std::uint64_t max_records_per_person = 1;  ///< q: every bound is multiplied by it
};

/// The one place where block bounds are combined (spec section 2). @throws ConfigError for absurd input.
Sensitivity combined_sensitivity(const SensitivityInput& input);

}  // namespace muffle::privacy
