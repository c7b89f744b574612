#pragma once

#include <memory>

#include "kernels.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {

/// What a cosine or sine is multiplied by before truncation: just below sqrt(2/D) (2^k - 1), so far below
/// that no rounding error can lift a record's integer norm above 2^k. With float32 sines and cosines,
///   cos^2 + sin^2 <= 1 + 2^-22        (every float phase; held by a test), so each pair is at most 1 + 2^-23
///   long, the product rounds up by a factor of at most 1 + 2^-24, and truncation only shrinks;
/// the factor 1 - 2^-22 covers both, and the result is rounded down to a float. So a record whose phases are
/// finite is never rejected; the price is a relative error of 3e-7 in the embedding, a fraction of a lattice
/// step per sine.
float rff_lattice_scale(std::size_t features, const Lattice& lattice);

/// make_rff_block() with a chosen kernel variant, for tests and benchmarks.
std::unique_ptr<Block> make_rff_block(const RffSpec& spec, const Lattice& lattice, const Kernels& kernels);

/// rff_frequencies() with a chosen kernel variant, for tests.
std::vector<float> rff_frequencies(const RffSpec& spec, const Kernels& kernels);

}  // namespace muffle::features
