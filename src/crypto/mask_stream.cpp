#include "mask_stream.hpp"

#include <sodium.h>

#include <array>
#include <bit>

namespace muffle::crypto {

// Masks are added as 64-bit integers read from ChaCha20's bytes: all parties must read them alike.
static_assert(std::endian::native == std::endian::little, "masks are written for little-endian machines");
static_assert(crypto_stream_chacha20_ietf_KEYBYTES == kMaskKeyBytes);

void mask_chunk(const unsigned char* key, std::size_t at, std::span<std::uint64_t> chunk, bool add,
                std::vector<std::uint64_t>& scratch) {
  constexpr std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> kNonce{};
  static constexpr std::array<unsigned char, kMaskChunk * sizeof(std::uint64_t)> kZeros{};
  const auto block = static_cast<std::uint32_t>(at * sizeof(std::uint64_t) / 64);
  crypto_stream_chacha20_ietf_xor_ic(reinterpret_cast<unsigned char*>(scratch.data()), kZeros.data(),
                                     chunk.size_bytes(), kNonce.data(), block, key);
  if (add) {
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += scratch[i];
  } else {
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] -= scratch[i];
  }
}

}  // namespace muffle::crypto
