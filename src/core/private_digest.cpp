#include "muffle/core/private_digest.hpp"

#include <sodium.h>

#include <cstring>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle {

std::string PrivateHasher::new_key() {
  require(sodium_init() >= 0, "libsodium could not be set up");
  std::string key(crypto_generichash_KEYBYTES, '\0');
  randombytes_buf(key.data(), key.size());
  return key;
}

PrivateHasher::PrivateHasher(std::string key) : key_(std::move(key)) {
  require(key_.size() == crypto_generichash_KEYBYTES, "private bytes are hashed under a key of their own");
}

PrivateHasher::~PrivateHasher() { sodium_memzero(key_.data(), key_.size()); }

PrivateDigest PrivateHasher::hash(char kind, std::string_view bytes) const {
  unsigned char out[crypto_generichash_BYTES_MIN];
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key_.data()), key_.size(),
                          sizeof out);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&kind), 1);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  crypto_generichash_final(&state, out, sizeof out);
  std::uint64_t first;
  std::memcpy(&first, out, sizeof first);
  return PrivateDigest(first);
}

PrivateDigest PrivateHasher::hash(char kind, const PrivateDigest& digest, std::uint64_t number) const {
  const std::uint64_t both[] = {digest.value_, number};
  return hash(kind, {reinterpret_cast<const char*>(both), sizeof both});
}

}  // namespace muffle
