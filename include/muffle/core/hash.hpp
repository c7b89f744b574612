#pragma once

#include <sodium/crypto_hash_sha256.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "muffle/core/heartbeat.hpp"

namespace muffle {

using Sha256Digest = std::array<unsigned char, 32>;

/// Incremental SHA-256 (libsodium).
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  /// Ends the computation; the object may not be used afterwards.
  Sha256Digest digest();

 private:
  crypto_hash_sha256_state state_;
};

Sha256Digest sha256(std::span<const std::byte> bytes);
Sha256Digest sha256(std::string_view text);
/// Lower-case hexadecimal digits: of a digest 64.
std::string to_hex(std::span<const unsigned char> bytes);
bool is_hex(std::string_view text, std::size_t digits);
/// A file that holds no record and nothing computed from records without noise. Whoever hashes a file says
/// so: a hash of records is as good as the records to those who know all of them but one. (In rooms that see
/// records nothing is hashed: tests/room_links.py.)
struct PublicFile {
  explicit PublicFile(std::filesystem::path file) : path(std::move(file)) {}
  std::filesystem::path path;
};
/// SHA-256 of a file's bytes, in hex. @throws IoError if it cannot be read.
/// @param heartbeat  called after every MiB; what it throws ends the reading. May be empty.
std::string sha256_file_hex(const PublicFile& file, const Heartbeat& heartbeat = {});

}  // namespace muffle
