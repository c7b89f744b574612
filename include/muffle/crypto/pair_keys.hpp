#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

// What covers a site's contribution to a round between institutions: one stream of random numbers for each
// key holder, who alone can make it again (docs/explanation/between-institutions.md).

/// An X25519 public key.
using ExchangePoint = std::array<unsigned char, 32>;
/// The round: SHA-256 of its proposal.
using RoundId = std::array<unsigned char, 32>;
using PairMac = std::array<unsigned char, 16>;
using PairCommitment = std::array<unsigned char, 32>;
/// One party's share of the key of a stream.
using KeyShare = std::array<unsigned char, 32>;

/// An X25519 key pair for one use: a key holder's of one round, or a site's of one contribution. Secret;
/// move-only; in locked memory, wiped.
class ExchangeKey {
 public:
  /// From the operating system's entropy. @throws InvariantError  there is none.
  static ExchangeKey generate();
  /// For a contribution: fresh entropy, hashed with the round and the vector that will be masked. A machine
  /// that was restored, and finds the same entropy again, masks the same vector alike, and any other one with
  /// other masks. @param bare  the vector without its masks, noise included; private
  static ExchangeKey for_vector(const RoundId& round, std::span<const std::uint64_t> bare);
  /// As for_vector(), with this entropy: for tests. @param fresh  32 bytes
  static ExchangeKey for_vector(const RoundId& round, std::span<const std::uint64_t> bare,
                                const SecretBytes& fresh);
  /// A round key as its holder keeps it. @param secret  32 bytes
  explicit ExchangeKey(SecretBytes secret);

  /// Reads what save() wrote. @throws ConfigError  no such file's text, or others than the owner may read it.
  /// @throws IoError.
  static ExchangeKey load(const std::filesystem::path& path);

  const ExchangePoint& point() const { return point_; }
  /// Writes the key's file, readable by its owner only. Never overwrites. @throws IoError.
  void save(const std::filesystem::path& path) const;

 private:
  friend class PairKey;
  SecretBytes secret_;
  ExchangePoint point_{};
};

/// Whom a pair's key is for, and in which round: both derive it from the same. Public.
struct PairContext {
  RoundId round{};
  SitePublicKey site{}, holder{};  ///< their Ed25519 keys, which name them for good
  ExchangePoint site_point{}, holder_point{};
};

/// What makes the stream of a site and a key holder. Secret; move-only; in locked memory, wiped.
class StreamKey {
 public:
  /// @param secret  32 bytes
  StreamKey(SecretBytes secret, const PairContext& context);

  /// Ties the site to this key: whoever learns the key can tell that it is the one.
  PairCommitment commitment() const;
  /// Adds the stream to `values`, modulo 2^64, and wipes the key: a stream is used once at either end.
  /// @throws InvariantError  a second use, or more numbers than kMaxMaskedLength.
  void add_to(std::span<std::uint64_t> values) &&;

  /// Shares of the key (Shamir, CACM 1979, byte by byte over GF(2^8)): any `least` of them make it again,
  /// fewer say nothing. @returns for each of `parties` its share, 32 bytes; secret. @throws InvariantError.
  SecretBytes split(std::size_t parties, std::size_t least) const;
  struct Share {
    std::size_t party = 0;  ///< whose it is, from 0
    KeyShare bytes{};
  };
  /// What so many shares make, whatever they are: compare the commitment. @param shares  of different
  /// parties. @throws InvariantError.
  static StreamKey rebuild(std::span<const Share> shares, const PairContext& context);

 private:
  SecretBytes key_;
  PairContext context_;
};

/// What a site and a key holder share in one round. Secret; move-only; in locked memory, wiped.
class PairKey {
 public:
  /// @param mine  the site's key or the holder's: one of the context's points is its own
  /// @throws ProtocolError  the other point is of small order: its "secret" is everybody's.
  /// @throws InvariantError  `mine` has neither of the points.
  PairKey(const ExchangeKey& mine, const PairContext& context);

  /// Of the contribution's public header: shows the holder that both have the same key.
  PairMac mac(std::string_view header) const;
  /// In constant time.
  bool has_made(const PairMac& mac, std::string_view header) const;
  const StreamKey& stream() const { return stream_; }
  PairCommitment commitment() const { return stream_.commitment(); }

  /// A box that the other side alone can open, and that nobody can change: bytes that it has for it, and
  /// kBoxOverhead more. Of another pair, or another round, it opens nothing.
  std::string box(std::span<const unsigned char> secret) const;
  /// @returns whether it is the other side's, and holds so many bytes.
  bool open_box(std::string_view box, std::span<unsigned char> into) const;
  static constexpr std::size_t kBoxOverhead = 12 + 16;

  /// As StreamKey::add_to(), and wipes all keys of the pair.
  void add_to(std::span<std::uint64_t> values) &&;

 private:
  StreamKey stream_;
  SecretBytes others_;  ///< the MAC's key, then the box's
};

}  // namespace muffle::crypto
