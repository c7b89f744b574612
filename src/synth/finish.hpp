#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "muffle/synth/sampler.hpp"

namespace muffle::synth {

/// What becomes of the records first .. first + n - 1 that a model drew, n = x.size() / dims
/// (docs/explanation/moments.md, "Finishing"): numbers below spec.floor become 0; then each, with probability
/// spec.stray, becomes what stands at its place in one of these n records, chosen uniformly. A pure function
/// of its arguments. Strays are few: each costs two random numbers, and the others nothing.
/// @param x  n x dims row-major, in [0, 1]
void finish_records(std::span<float> x, std::size_t dims, const SampleSpec& spec, std::uint64_t first);

}  // namespace muffle::synth
