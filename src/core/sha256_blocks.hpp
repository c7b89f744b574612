#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muffle {

/// Whether this processor computes SHA-256 by itself (x86's SHA extensions), several times faster.
bool has_sha256_blocks();
/// Takes whole blocks of 64 bytes into the eight words of a hash (FIPS 180-4). Only if there is such a
/// processor.
void sha256_blocks(std::span<std::uint32_t, 8> words, const unsigned char* bytes, std::size_t blocks);

}  // namespace muffle
