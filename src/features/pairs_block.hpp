// Sums counts of tables on the CPU.
#pragma once

#include <memory>

#include "muffle/features/pairs.hpp"

namespace muffle::features {

/// Scratch of each thread.
std::size_t pairs_scratch_bytes(const CountTables& all);

/// @throws ConfigError  the lattice is too coarse for some table.
std::unique_ptr<Block> make_pairs_block(const CountTables& all, const Lattice& lattice);

}  // namespace muffle::features
