#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/bounds/bounds.hpp"

namespace muffle::privacy {

/// Which two data sets are neighbours: what the guarantee hides the difference of.
enum class Adjacency {
  kReplaceOne,    ///< one person's records are replaced; m is public (the papers')
  kAddRemoveOne,  ///< one person's records come or go; m is private
};

/// More records of one person are a slip of the keyboard; configuration, artifacts and ledgers refuse them.
inline constexpr std::uint64_t kMaxRecordsPerPerson = 1'000'000;

/// "replace-one", "add-remove-one": the words used in configs, artifacts and statements.
std::string_view to_string(Adjacency adjacency);

/// L2 sensitivity of the released sums, in units of the features (1.0 = lattice 2^k). A proof object: `value`
/// is never below the exact bound (rounded up), and `derivation` says, step by step, why it holds.
struct Sensitivity {
  double value = 0.0;
  std::string derivation;  ///< printed in the privacy statement
};

/// What the sensitivity follows from. Public.
struct SensitivityInput {
  std::vector<bounds::BlockBound> blocks;
  Adjacency adjacency = Adjacency::kReplaceOne;
  bool counts = false;         ///< class counts, scaled by counts_weight, are released beside the blocks
  double counts_weight = 0.0;  ///< lambda; ignored without counts
  std::uint64_t max_records_per_person = 1;  ///< q: every bound is multiplied by it
};

/// The one place where block bounds are combined (docs/math.md, "sensitivity"). With B^2 = sum B_b^2 and, per
/// block, the distance of two vectors d_b = 2 B_b, or sqrt(2) B_b if their inner product is never negative:
///   replace-one    q max( sqrt(sum d_b^2),  sqrt(2 B^2 + 2 lambda^2) )   same label / another label
///   add/remove-one q sqrt(B^2 + lambda^2)
/// where a block without labels counts d_b^2 in place of 2 B_b^2 under another label, too.
/// with lambda = 0 if no counts are released. For this to be a theorem the sums must keep to the three rules
/// there, on records that fail a block's check, that are counted, and that have no label of the schema's.
/// Norms and lambda are 1e-9 to 1e6: squares far from where doubles lose digits.
/// @throws ConfigError for absurd input; all its problems in one message.
Sensitivity combined_sensitivity(const SensitivityInput& input);

}  // namespace muffle::privacy
