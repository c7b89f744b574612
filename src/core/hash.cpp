#include "muffle/core/hash.hpp"

#include <sodium.h>

#include <algorithm>
#include <vector>

#include "muffle/core/files.hpp"
#include "sha256_blocks.hpp"

namespace muffle {

Sha256::Sha256() { crypto_hash_sha256_init(&state_); }

Sha256& Sha256::update(const PublicBytes& data) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.bytes.data());
  std::size_t n = data.bytes.size();
  const auto by_library = [&](std::size_t some) {
    crypto_hash_sha256_update(&state_, bytes, some);
    bytes += some;
    n -= some;
  };
  if (has_sha256_blocks()) {
    // state_.count is in bits. Whole blocks go past the library, which keeps what is left of one.
    by_library(std::min<std::size_t>(n, (64 - state_.count / 8 % 64) % 64));
    if (const std::size_t blocks = n / 64; blocks > 0) {
      sha256_blocks(state_.state, bytes, blocks);
      state_.count += std::uint64_t{blocks} * 64 * 8;
      bytes += blocks * 64;
      n %= 64;
    }
  }
  by_library(n);
  return *this;
}

Sha256& Sha256::update(std::string_view text) { return update(PublicBytes(std::as_bytes(std::span(text)))); }

Sha256Digest Sha256::digest() {
  Sha256Digest out;
  crypto_hash_sha256_final(&state_, out.data());
  return out;
}

Sha256Digest sha256(const PublicBytes& data) { return Sha256().update(data).digest(); }
Sha256Digest sha256(std::string_view text) { return Sha256().update(text).digest(); }

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string hex(2 * bytes.size() + 1, '\0');  // libsodium ends it with a zero
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  hex.pop_back();
  return hex;
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string sha256_file_hex(const PublicFile& file, const Heartbeat& heartbeat) {
  InputFile in(file.path, "one", "Check the path and your permissions.");
  Sha256 hash;
  std::vector<std::byte> buffer(1 << 20);
  for (std::size_t n; (n = in.read(buffer)) > 0;) {
    hash.update(PublicBytes(std::span(buffer).first(n)));
    beat(heartbeat);
  }
  return to_hex(hash.digest());
}

}  // namespace muffle
