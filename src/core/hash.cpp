#include "muffle/core/hash.hpp"

#include <sodium.h>

#include <fstream>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"

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

std::string sha256_file_hex(const std::string& path, const std::function<void()>& alive) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError("cannot read '" + path + "' to compute its SHA-256: is it there and readable?");
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  const std::filesystem::path name = path;
  const auto read_some = [&] {
    const WatchedStep step("reading", name);
    return in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0;
  };
  while (read_some()) {
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
    alive();
  }
  if (in.bad()) throw IoError("reading '" + path + "' failed half-way: check the disk");
  return to_hex(hash.digest());
}

}  // namespace muffle
