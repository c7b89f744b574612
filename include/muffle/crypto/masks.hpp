#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

/// Longest vector that can be masked: ChaCha20's block counter ends there (256 GiB for each key). The bound
/// on distributed noise relies on it too.
inline constexpr std::uint64_t kMaxMaskedLength = std::uint64_t{1} << 35;

/// The masks of one rank in one round, move-only: every pair of ranks shares a stream of random numbers that
/// one adds and the other subtracts, so that the masked vectors of all ranks have the sum of the bare ones,
/// modulo 2^64, and those of fewer ranks say nothing (Bonawitz et al., CCS 2017, without its recovery of
/// dropped ranks). One rank alone has no masks: there is nobody to hide from.
class Masks {
 public:
  /// Names the round in logs; public. 16 hexadecimal digits.
  const std::string& round() const { return round_; }

  /// Adds the masks, in place, and wipes the keys: masks are never used twice.
  /// @throws InvariantError  another length, or a second use; `values` is as it was.
  void apply(std::span<std::uint64_t> values) &&;

 private:
  friend class KeyExchange;
  Masks() = default;

  SecretBytes keys_;  ///< 32 bytes for each rank (this rank's own are unused)
  std::size_t rank_ = 0, ranks_ = 0, length_ = 0;
  std::string round_;
};

/// What the ranks agree on before they share keys.
struct MaskSpec {
  int rank = 0, ranks = 1;
  std::size_t length = 0;  ///< numbers in each rank's vector; equal on all ranks
  /// Public text that ties the keys to their purpose, such as the configuration's hash; equal on all ranks.
  std::string context;
  /// Signs this rank's key and checks the others'. Null: keys are not signed, which protects against those
  /// who watch, not against those who meddle. On all ranks or on none. Outlives the exchange.
  const SiteIdentity* identity = nullptr;
};

/// One rank's side of the exchange of fresh X25519 keys, as messages that somebody else carries: hello() to
/// all; sign(everybody's hellos) to all; finish(everybody's signatures). In this order, each once. About 150
/// bytes a rank and message; about 70 us a peer of computing. Protocol, theorem and limits:
/// docs/explanation/secure-aggregation.md.
class KeyExchange {
 public:
  /// Makes this rank's key. @throws ConfigError  this rank's site key is not the roster's, or the roster has
  /// another number of ranks. @throws InvariantError  the vector is too long, or no entropy.
  explicit KeyExchange(const MaskSpec& spec);

  const std::string& hello() const { return hello_; }
  /// Checks that all ranks mean the same sum, and signs what was heard from all: whoever was told anything
  /// else makes another signature. @returns empty where keys are not signed.
  /// @throws ProtocolError  versions, lengths, contexts or rosters differ, or this rank's own hello changed.
  std::string sign(std::vector<std::string> hellos);
  /// @throws ProtocolError  a signature is missing or wrong, or a key is invalid. Nothing was revealed.
  Masks finish(std::span<const std::string> signatures) &&;

 private:
  MaskSpec spec_;
  SecretBytes ephemeral_;
  std::string hello_;
  std::vector<std::string> hellos_;
  std::array<unsigned char, 32> transcript_{};
};

}  // namespace muffle::crypto
