#include "muffle/privacy/entropy.hpp"

#include <sodium.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::privacy {
namespace {

/// libsodium calls this when the kernel refuses entropy, and would then abort(). Nothing is thrown through C
/// code, nothing is cleaned up: the process ends at once, as an invariant's failure does.
[[noreturn]] void end_without_entropy() {
  constexpr std::string_view kText =
      "muffle: the operating system gave no entropy (getrandom(2) failed), so there is no privacy noise and "
      "nothing was released. Mend the machine's random number generator before trying again.\n";
  static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
  ::_exit(static_cast<int>(ExitCode::kInvariant));
}

class OsEntropy final : public EntropySource {
 public:
  OsEntropy() {
    exit_on_entropy_failure();
    require(sodium_init() >= 0,
            "libsodium could not be set up, so there is no source of privacy noise and nothing is released: "
            "check that getrandom(2) or /dev/urandom works on this machine.");
  }
  void fill(std::span<std::byte> out) override { randombytes_buf(out.data(), out.size()); }
  bool is_secure() const override { return true; }
};

class InsecureSeededEntropy final : public EntropySource {
 public:
  explicit InsecureSeededEntropy(std::uint64_t seed) : stream_(seed, Stream::kInsecureNoise) {}
  void fill(std::span<std::byte> out) override {
    while (!out.empty()) {
      const std::uint64_t word = stream_.bits(next_++);
      const std::size_t n = std::min(out.size(), sizeof word);
      std::memcpy(out.data(), &word, n);
      out = out.subspan(n);
    }
  }
  bool is_secure() const override { return false; }

 private:
  CounterStream stream_;
  std::uint64_t next_ = 0;
};

class InsecureNoNoise final : public EntropySource {
 public:
  void fill(std::span<std::byte>) override {
    require(false, "no noise was to be drawn, and somebody asks for random bits: this is a bug in muffle.");
  }
  bool is_secure() const override { return false; }
  bool is_silent() const override { return true; }
};

}  // namespace

void exit_on_entropy_failure() {
  // It fails only if another thread holds libsodium's lock for ever; abort() then stays the answer.
  static_cast<void>(sodium_set_misuse_handler(end_without_entropy));
}

std::unique_ptr<EntropySource> os_entropy() { return std::make_unique<OsEntropy>(); }

std::unique_ptr<EntropySource> insecure_seeded_entropy(std::uint64_t seed) {
  return std::make_unique<InsecureSeededEntropy>(seed);
}

std::unique_ptr<EntropySource> insecure_no_noise() { return std::make_unique<InsecureNoNoise>(); }

}  // namespace muffle::privacy
