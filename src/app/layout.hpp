#pragma once

#include <cstddef>

#include "muffle/app/config.hpp"
#include "muffle/embed/embedding.hpp"

namespace muffle::app {

/// The blocks that a configuration releases. Public.
embed::Layout make_layout(const Config& config);

/// The same with another number of random Fourier features. What is proven about a block (its norm bound and
/// the sign of its kernel) does not depend on that number, so a small one answers for one that would not fit
/// in memory.
embed::Layout make_layout(const Config& config, std::size_t features);

}  // namespace muffle::app
