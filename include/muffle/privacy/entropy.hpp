#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace muffle::privacy {

/// Where noise gets its random bits.
class EntropySource {
 public:
  virtual ~EntropySource() = default;
  /// Fills the span. @throws InvariantError if entropy fails: there is no fallback.
  virtual void fill(std::span<std::byte> out) = 0;
  /// False marks every artifact that the noise touches NOT PRIVATE.
  virtual bool is_secure() const = 0;
};

/// The operating system's CSPRNG (libsodium's randombytes_buf, getrandom(2) below it).
/// @throws InvariantError if libsodium cannot be set up. Should the kernel refuse entropy later, libsodium
/// ends the process (sodium_misuse): no noise is better than weak noise.
std::unique_ptr<EntropySource> os_entropy();

/// A seeded Philox stream: FOR TESTS ONLY, behind --insecure-seeded-noise. Whoever guesses the seed subtracts
/// the noise; is_secure() is false.
std::unique_ptr<EntropySource> insecure_seeded_entropy(std::uint64_t seed);

}  // namespace muffle::privacy
