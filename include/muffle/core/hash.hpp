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

/// Numbers, bytes or a text that are no record, nor computed from records without noise. Whoever hashes some
/// says so: a hash of records is as good as the records to those who know all of them but one (of those:
/// PrivateHasher). tests/room_links.py names every file that hashes, and why it may.
struct PublicBytes {
  explicit PublicBytes(std::span<const std::byte> all) : bytes(all) {}
  explicit PublicBytes(std::string_view text) : bytes(std::as_bytes(std::span(text))) {}
  std::span<const std::byte> bytes;
};
/// The same of a file.
struct PublicFile {
  explicit PublicFile(std::filesystem::path file) : path(std::move(file)) {}
  std::filesystem::path path;
};

/// Incremental SHA-256 (libsodium).
class Sha256 {
 public:
  Sha256();
  Sha256& update(const PublicBytes& data);
  /// Ends the computation; the object may not be used afterwards.
  Sha256Digest digest();

 private:
  crypto_hash_sha256_state state_;
};

Sha256Digest sha256(const PublicBytes& data);
/// Lower-case hexadecimal digits: of a digest 64.
std::string to_hex(std::span<const unsigned char> bytes);
bool is_hex(std::string_view text, std::size_t digits);
/// SHA-256 of a file's bytes, in hex. @throws IoError if it cannot be read.
/// @param heartbeat  called after every MiB; what it throws ends the reading. May be empty.
std::string sha256_file_hex(const PublicFile& file, const Heartbeat& heartbeat = {});

}  // namespace muffle
