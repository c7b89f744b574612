#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/block.hpp"

namespace muffle::features {

enum class FrequencyKind {
  kDense,       ///< omega_j ~ N(0, I / l^2), independent
  kOrthogonal,  ///< blocks of orthogonal rows with chi-distributed norms (Yu et al., NeurIPS 2016)
};

/// Random Fourier features (Rahimi & Recht 2007), as in DP-MERF:
/// phi(x) = sqrt(2/D) [cos(omega_1 . x) ... cos(omega_{D/2} . x); sin(omega_1 . x) ... ], norm exactly 1.
struct RffSpec {
  std::size_t dims = 0;       ///< d: numbers per record
  std::size_t features = 0;   ///< D, even
  double length_scale = 1.0;  ///< l > 0, in units of the scaled record ([0,1] per column)
  FrequencyKind kind = FrequencyKind::kDense;
  std::uint64_t seed = 1;  ///< public
};

/// The frequencies in turns: omega_j / (2 pi), (D/2) x d, row-major float32. A pure function of the spec
/// (Philox and IEEE basic operations only): the same bits on every rank, machine, compiler and library
/// version.
/// @throws ConfigError  D odd or 0, d 0, length-scale not a positive number.
std::vector<float> rff_frequencies(const RffSpec& spec);

/// What is proven about the block, and the unit of its numbers.
BlockBound rff_bound();
std::vector<CoordinateRun> rff_coordinates(const RffSpec& spec, const Lattice& lattice);

/// The block that sums random Fourier features. Its kernel (matrix product and sine/cosine) is a fixed chain
/// of fused multiply-adds per value, so the lattice sums are bit-identical on every x86-64 machine with FMA,
/// whatever its vector width.
std::unique_ptr<Block> make_rff_block(const RffSpec& spec, const Lattice& lattice);

}  // namespace muffle::features
