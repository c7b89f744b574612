#pragma once

#include <cstdint>

#include "muffle/model/spec.hpp"

namespace muffle::app {

/// Trainable numbers of a generator, and the features that its batch norms average.
struct GeneratorSize {
  std::uint64_t parameters = 0;  ///< the largest 64-bit number for specs that need 2^53 or more
  std::uint64_t normed_features = 0, norms = 0;
};

/// @throws InvariantError  a convolutional spec without image or channels; load_config refuses these.
GeneratorSize generator_size(const model::GeneratorSpec& spec);

}  // namespace muffle::app
