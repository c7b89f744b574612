#pragma once

namespace muffle::features {

/// Which variant of the embedding kernels this processor runs: "generic", "avx2" or "avx512".
const char* kernel_variant();

}  // namespace muffle::features
