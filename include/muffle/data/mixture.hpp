#pragma once

#include <cstdint>
#include <filesystem>

namespace muffle::data {

inline constexpr int kMixtureGrid = 5;
inline constexpr double kMixtureStd = 0.2;
inline constexpr int mixture_class(int column, int row) { return (column + 2 * row) % kMixtureGrid; }

/// The papers' 2-D Gaussian mixture (docs/math.md, "the papers' mixture"): centres on the integer grid 0..4 x
/// 0..4, std 0.2, 4,000 points each, class = (column + 2 row) mod 5, 10 % held out; shuffled. Public, made by
/// muffle from a seed. Writes mixture-{train,test}-{points,labels}.idx (float32 records, uint8 labels):
/// 90,000 + 10,000.
void write_mixture(const std::filesystem::path& folder, std::uint64_t seed = 1);

}  // namespace muffle::data
