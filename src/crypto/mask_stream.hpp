#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muffle::crypto {

inline constexpr std::size_t kMaskKeyBytes = 32;

/// Numbers at a time: 64 KiB, the fastest (stays in the cache).
inline constexpr std::size_t kMaskChunk = 8192;

/// One key's stream of random numbers, ChaCha20 with a nonce of zeros: the key is used for this one stream.
/// Adds to `chunk`, or subtracts, the stream's numbers from `at` on, modulo 2^64. `at` is a multiple of
/// kMaskChunk; `scratch` holds kMaskChunk numbers, which the caller wipes.
void mask_chunk(const unsigned char* key, std::size_t at, std::span<std::uint64_t> chunk, bool add,
                std::vector<std::uint64_t>& scratch);

}  // namespace muffle::crypto
