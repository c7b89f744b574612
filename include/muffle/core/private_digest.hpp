#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace muffle {

/// What becomes of private bytes in a hash: 64 bits that can be compared, and nothing else. No bytes, digits,
/// number or text comes out of it, and it is not trivially copyable, so that neither a file nor a message
/// takes it: a hash of records tells as much as they do.
class PrivateDigest {
 public:
  PrivateDigest(const PrivateDigest& other) noexcept : value_(other.value_) {}
  PrivateDigest& operator=(const PrivateDigest& other) noexcept {
    value_ = other.value_;
    return *this;
  }
  std::strong_ordering operator<=>(const PrivateDigest&) const = default;

 private:
  friend class PrivateHasher;
  explicit PrivateDigest(std::uint64_t value) : value_(value) {}
  std::uint64_t value_;
};

/// Hashes private bytes under a secret key (BLAKE2b), for what holds them in memory to find equals and an
/// order in which nobody had a say. Two inputs have the same digest with a probability of 2^-64.
class PrivateHasher {
 public:
  /// A random key, from the operating system. Whoever shares it gets the same digests. Never logged or
  /// written.
  static std::string new_key();
  /// @throws InvariantError  not a new_key().
  explicit PrivateHasher(std::string key);
  ~PrivateHasher();
  PrivateHasher& operator=(PrivateHasher&&) = delete;

  /// @param kind  what the bytes are: those of one kind are none of another.
  PrivateDigest hash(char kind, std::string_view bytes) const;
  PrivateDigest hash(char kind, const PrivateDigest& digest, std::uint64_t number) const;

 private:
  std::string key_;
};

}  // namespace muffle
