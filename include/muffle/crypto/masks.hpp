#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muffle/crypto/pair_keys.hpp"
#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

/// Longest vector that can be masked: ChaCha20's block counter ends there (256 GiB for each key). The bound
/// on distributed noise relies on it too.
inline constexpr std::uint64_t kMaxMaskedLength = std::uint64_t{1} << 35;

/// The masks of one party in one round, move-only: every pair of parties shares a stream of random numbers
/// that one adds and the other subtracts, so that the masked vectors of all parties have the sum of the bare
/// ones, modulo 2^64, and those of fewer parties say nothing (Bonawitz et al., CCS 2017, without its recovery
/// of dropped parties). One party alone has no masks: there is nobody to hide from.
class Masks {
 public:
  /// Names the exchange of keys that they are of, in logs; public. 16 hexadecimal digits.
  const std::string& name() const { return name_; }

  /// Adds the masks, in place, and wipes the keys: masks are never used twice.
  /// @throws InvariantError  another length, or a second use; `values` is as it was.
  void apply(std::span<std::uint64_t> values) &&;

 private:
  friend class KeyExchange;
  Masks() = default;

  SecretBytes keys_;  ///< 32 bytes for each party (this party's own are unused)
  std::size_t party_ = 0, parties_ = 0, length_ = 0;
  std::string name_;
};

/// What the parties agree on before they share keys. They are counted from 0.
struct MaskSpec {
  int party = 0, parties = 1;
  std::size_t length = 0;  ///< numbers in each party's vector, the same at all parties
  RoundId round{};         ///< what the keys are for: the same at all parties
  /// Signs this party's key and checks the others'. Null: keys are not signed, which protects against those
  /// who watch, not against those who meddle. At all parties or at none. Outlives the exchange.
  const SiteIdentity* identity = nullptr;
};

/// One party's side of the exchange of fresh X25519 keys, as messages that somebody else carries: hello() to
/// all; sign(everybody's hellos) to all; finish(everybody's signatures). In this order, each once. About 150
/// bytes a party and message; about 70 us a peer of computing. Protocol, theorem and limits:
/// docs/explanation/secure-aggregation.md.
class KeyExchange {
 public:
  /// Makes this party's key. @throws ConfigError  this party's site key is not the roster's, or the roster
  /// has another number of parties. @throws InvariantError  the vector is too long, or no entropy.
  explicit KeyExchange(const MaskSpec& spec);

  const std::string& hello() const { return hello_; }
  /// Checks that all parties mean the same sum, and signs what was heard from all: whoever was told anything
  /// else makes another signature. @returns empty where keys are not signed.
  /// @throws ProtocolError  versions, lengths, contexts or rosters differ, or this party's own hello changed.
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
