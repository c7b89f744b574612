#pragma once

#include <cstdint>
#include <vector>

#include "muffle/embed/audit.hpp"

namespace muffle::embed {

/// The exact integer sums of made-up records, modulo 2^64, by the only way there is: they are published with
/// seeded noise, and whoever knows the seed subtracts it.
std::vector<std::uint64_t> known_sums(const Embedder& embedder, const CanarySet& set);

/// b - a, number by number, as real numbers in lattice units.
std::vector<double> difference(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);
double norm(const std::vector<double>& v);

}  // namespace muffle::embed
