#include "muffle/core/hash.hpp"

#ifdef MUFFLE_OPENSSL
#include <openssl/sha.h>
#endif
#include <sodium.h>

#include <vector>

#include "muffle/core/files.hpp"

namespace muffle {

Sha256::Sha256() { crypto_hash_sha256_init(&state_); }

Sha256& Sha256::update(const PublicBytes& data) {
  crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(data.bytes.data()),
                            data.bytes.size());
  return *this;
}

Sha256Digest Sha256::digest() {
  Sha256Digest out;
  crypto_hash_sha256_final(&state_, out.data());
  return out;
}

// OpenSSL's uses the processor's own instructions for it, libsodium's does not: three times as fast.
Sha256Digest sha256(const PublicBytes& data) {
#ifdef MUFFLE_OPENSSL
  Sha256Digest out;
  static_assert(std::tuple_size_v<Sha256Digest> == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const unsigned char*>(data.bytes.data()), data.bytes.size(), out.data());
  return out;
#else
  return Sha256().update(data).digest();
#endif
}

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
