#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/hash.hpp"

namespace muffle::crypto {

/// An Ed25519 public key: names a site for good.
using SitePublicKey = std::array<unsigned char, 32>;
using SiteSignature = std::array<unsigned char, 64>;

/// 64 lower-case hexadecimal digits.
std::string to_hex(const SitePublicKey& key);

/// Whether `signature` is the holder of `key`'s on these bytes (Ed25519).
bool verify(const SitePublicKey& key, std::span<const std::byte> message, const SiteSignature& signature);

/// A site's long-term Ed25519 key pair. Secret; move-only; kept in locked memory that core dumps leave out,
/// and wiped on destruction. It signs the ephemeral keys of secure sums and releases (embed/signature.hpp),
/// each under a first line of its own, and nothing else: it encrypts no data.
class SiteKey {
 public:
  /// A new key from the operating system's entropy. @param name  as valid_site_name() has it.
  /// @throws ConfigError  a name that is none. @throws InvariantError  no entropy.
  static SiteKey generate(const std::string& name);
  /// Reads the text of a key file. @param source  the file's name, for messages.
  /// @throws ConfigError  not a key file, or its two halves do not belong together.
  static SiteKey parse(std::string_view text, const std::string& source);
  /// Reads a key file. @throws ConfigError  as parse(), or others than the owner may read the file.
  /// @throws IoError  it cannot be read.
  static SiteKey load(const std::filesystem::path& path);

  SiteKey(SiteKey&&) noexcept = default;
  SiteKey& operator=(SiteKey&&) noexcept = default;
  ~SiteKey() = default;

  const std::string& name() const { return name_; }
  const SitePublicKey& public_key() const { return public_; }
  SiteSignature sign(std::span<const std::byte> message) const;
  /// Writes the key file, readable by its owner only. Never overwrites. @throws IoError.
  void save(const std::filesystem::path& path) const;

 private:
  struct Free {
    void operator()(unsigned char* secret) const noexcept;
  };
  /// From a seed of 32 bytes.
  SiteKey(std::string name, const unsigned char* seed);

  std::string name_;
  SitePublicKey public_{};
  std::unique_ptr<unsigned char, Free> secret_;  ///< 64 bytes, libsodium's: seed, then public key
};

/// Site names: 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', beginning with a letter or a digit.
bool valid_site_name(std::string_view name);

/// Which site holds each rank, and the site's public key. Public; every site gets the same file over a
/// channel that it trusts, and checks it: whoever writes the roster decides whom the masks are shared with.
class SiteRoster {
 public:
  struct Entry {
    std::string site;
    SitePublicKey key;
  };

  /// Text: one line a rank, "RANK SITE PUBLIC-KEY-IN-HEX"; '#' begins a comment. Each rank from 0 once. A
  /// site may hold several ranks, always with the same key; no two sites share a key.
  /// @throws ConfigError naming the source and the line.
  static SiteRoster parse(std::string_view text, const std::string& source);
  /// @throws IoError, ConfigError.
  static SiteRoster load(const std::filesystem::path& path);

  int ranks() const { return static_cast<int>(entries_.size()); }
  const Entry& at(int rank) const { return entries_.at(static_cast<std::size_t>(rank)); }
  /// SHA-256 of the canonical text: ranks compare it, so that all hold the same roster.
  Sha256Digest hash() const;

 private:
  std::vector<Entry> entries_;  // by rank
};

/// What a rank signs with, and whose signatures it accepts.
struct SiteIdentity {
  SiteKey key;
  SiteRoster roster;
};

}  // namespace muffle::crypto
