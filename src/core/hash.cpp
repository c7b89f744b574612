#include "muffle/core/hash.hpp"

#include <sodium.h>

#include <span>
#include <vector>

#include "muffle/core/files.hpp"

namespace muffle {
namespace {
crypto_hash_sha256_state* as_state(std::array<unsigned char, 128>& raw) {
  static_assert(sizeof(crypto_hash_sha256_state) <= 128);
  return reinterpret_cast<crypto_hash_sha256_state*>(raw.data());
}
}  // namespace

Sha256::Sha256() { crypto_hash_sha256_init(as_state(state_)); }

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  crypto_hash_sha256_update(as_state(state_), reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size());
  return *this;
}

Sha256& Sha256::update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

Sha256Digest Sha256::digest() {
  Sha256Digest out;
  crypto_hash_sha256_final(as_state(state_), out.data());
  return out;
}

Sha256Digest sha256(std::span<const std::byte> bytes) { return Sha256().update(bytes).digest(); }
Sha256Digest sha256(std::string_view text) { return Sha256().update(text).digest(); }

std::string to_hex(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (const unsigned char c : digest) {
    hex += kDigits[c >> 4];
    hex += kDigits[c & 15];
  }
  return hex;
}

std::string sha256_file_hex(const std::string& path, const Heartbeat& heartbeat) {
  InputFile in(path, "one", "Check the path and your permissions.");
  Sha256 hash;
  std::vector<std::byte> buffer(1 << 20);
  for (std::size_t n; (n = in.read(buffer)) > 0;) {
    hash.update(std::span(buffer).first(n));
    if (heartbeat) heartbeat();
  }
  return to_hex(hash.digest());
}

}  // namespace muffle
