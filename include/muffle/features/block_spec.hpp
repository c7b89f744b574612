#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "muffle/features/block.hpp"
#include "muffle/features/lattice.hpp"
#include "muffle/features/moments.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {

/// One block as a configuration or a release describes it: the feature map, public in all its parts, and the
/// weight by which it is scaled before the release (weighted.hpp). Moments are resolved().
struct BlockSpec {
  std::variant<RffSpec, MomentsSpec> map;
  double weight = 1.0;
  /// Random Fourier features that nothing is trained on: two models are compared by their distances to them
  /// (train/proxy.hpp). Their frequencies and noise are their own.
  bool proxy = false;

  const RffSpec* rff() const { return std::get_if<RffSpec>(&map); }
  const MomentsSpec* moments() const { return std::get_if<MomentsSpec>(&map); }
};

/// "rff", "moments", "proxy": the words used in configurations and messages.
std::string_view kind_of(const BlockSpec& spec);
/// d: numbers per record.
std::size_t dims_of(const BlockSpec& spec);
/// D_b: numbers per class.
std::size_t features_of(const BlockSpec& spec);
/// What is proven, weight included: Block::bound() without the block.
BlockBound bound_of(const BlockSpec& spec);
/// Block::coordinates(), weight included. @param lattice  of random features; moments bring their own.
std::vector<CoordinateRun> coordinates_of(const BlockSpec& spec, const Lattice& lattice);
/// Numbers that map_hash() has to rebuild: of hostile specs they can be many.
double numbers_in_map(const BlockSpec& spec);
/// SHA-256, in hex, of what the spec is expanded to: the float32 frequencies, or the lift. Readers of a
/// release check that they rebuild the same.
std::string map_hash(const BlockSpec& spec);

/// The sums of so many records cannot overflow. @throws ConfigError.
void require_no_overflow(std::uint64_t records, const BlockSpec& spec, const Lattice& lattice);

std::unique_ptr<Block> make_block(const BlockSpec& spec, const Lattice& lattice);

}  // namespace muffle::features
