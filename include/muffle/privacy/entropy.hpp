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
  /// True: what is drawn from it is 0, every number: no noise at all. Never secure.
  virtual bool is_silent() const { return false; }
};

/// From now on the process ends with exit code 70 and a message when the kernel refuses entropy to libsodium,
/// for noise, keys or ids, instead of by SIGABRT. os_entropy() does it too; main() does it first of all.
void exit_on_entropy_failure();

/// The operating system's CSPRNG (libsodium's randombytes_buf, getrandom(2) below it).
/// @throws InvariantError if libsodium cannot be set up. Should the kernel refuse entropy later, the
/// process ends at once with exit code 70: no noise is better than weak noise, and libsodium has no way back.
std::unique_ptr<EntropySource> os_entropy();

/// A seeded Philox stream: FOR TESTS ONLY, behind --insecure-seeded-noise. Whoever guesses the seed subtracts
/// the noise; is_secure() is false.
std::unique_ptr<EntropySource> insecure_seeded_entropy(std::uint64_t seed);

/// No noise: for runs that show what a method does without, behind --insecure-no-noise. What it touches is
/// the exact sums of private records; is_secure() is false.
std::unique_ptr<EntropySource> insecure_no_noise();

}  // namespace muffle::privacy
