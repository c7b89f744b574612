#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <map>
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

using muffle::to_hex;
/// Fills `out` from hexadecimal digits of either case. @returns whether there are exactly so many.
bool from_hex(std::string_view hex, std::span<unsigned char> out);

/// Whether `signature` is the holder of `key`'s on these bytes (Ed25519).
bool verify(const SitePublicKey& key, std::string_view message, const SiteSignature& signature);

/// Freed and wiped when it ends; in locked memory that core dumps leave out.
class SecretBytes {
 public:
  SecretBytes() = default;
  /// @throws InvariantError  no locked memory is left.
  explicit SecretBytes(std::size_t bytes);
  unsigned char* get() const { return bytes_.get(); }
  explicit operator bool() const { return bytes_ != nullptr; }
  void reset() { bytes_.reset(); }

 private:
  struct Free {
    void operator()(unsigned char* secret) const noexcept;
  };
  std::unique_ptr<unsigned char, Free> bytes_;
};

/// A site's long-term Ed25519 key pair. Secret; move-only; kept in locked memory that core dumps leave out,
/// and wiped on destruction. It signs the ephemeral keys of secure sums and releases (crypto/signature.hpp),
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

  const std::string& name() const { return name_; }
  const SitePublicKey& public_key() const { return public_; }
  SiteSignature sign(std::string_view message) const;
  /// Writes the key file, readable by its owner only. Never overwrites. @throws IoError.
  void save(const std::filesystem::path& path) const;

 private:
  /// From a seed of 32 bytes.
  SiteKey(std::string name, const unsigned char* seed);

  std::string name_;
  SitePublicKey public_{};
  SecretBytes secret_;  ///< 64 bytes, libsodium's: seed, then public key
};

/// `muffle keygen`: a site's long-term key pair. Writes FOLDER/NAME.key (secret, mode 0600) and
/// FOLDER/NAME.pub (one line, "NAME PUBLIC-KEY-IN-HEX": with a party's number in front it is the site's line
/// of the roster). Never overwrites. Local: one process, no MPI. @throws ConfigError, IoError.
void make_site_key(const std::filesystem::path& folder, const std::string& name, std::ostream& out);

/// Site names: 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', beginning with a letter or a digit.
bool valid_site_name(std::string_view name);

/// A public key that somebody trusts, and the name that came with it.
struct SignerKey {
  std::string name;
  SitePublicKey key{};
};

/// Which site each party of a secure sum belongs to, and the site's public key. Public; every site gets the
/// same file over a channel that it trusts, and checks it: whoever writes the roster decides whom the masks
/// are shared with.
class SiteRoster {
 public:
  /// Text: one line a party, "PARTY SITE PUBLIC-KEY-IN-HEX"; '#' begins a comment. Each party once, from 0;
  /// a site may hold several, always with the same key; no two sites share a key.
  /// @throws ConfigError naming the source and the line.
  static SiteRoster parse(std::string_view text, const std::string& source);
  /// @throws IoError, ConfigError.
  static SiteRoster load(const std::filesystem::path& path);

  int parties() const { return static_cast<int>(entries_.size()); }
  /// @throws ConfigError  it is of another number of parties.
  void require_parties(int taking_part) const;
  /// How many parties each site holds.
  std::map<std::string, int> parties_by_site() const;
  const SignerKey& at(int party) const { return entries_.at(static_cast<std::size_t>(party)); }
  /// SHA-256 of the canonical text: the parties compare it, so that all hold the same roster.
  Sha256Digest hash() const;

 private:
  std::vector<SignerKey> entries_;  // by party
};

/// Reads a public key file: one line "SITE PUBLIC-KEY-IN-HEX", as a roster has after the party's number; '#'
/// begins a comment. @throws ConfigError; a secret key's file is refused, and nothing of it is shown.
SignerKey parse_signer_key(std::string_view text, const std::string& name);

/// What a party signs with, and whose signatures it accepts.
struct SiteIdentity {
  SiteKey key;
  SiteRoster roster;
};

}  // namespace muffle::crypto
