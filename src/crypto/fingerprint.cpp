#include "muffle/crypto/fingerprint.hpp"

#include <algorithm>
#include <cctype>

#include "muffle/core/hash.hpp"

namespace muffle::crypto {
namespace {

constexpr std::string_view kConsonants = "bdfghjklmnprstvz", kVowels = "aiou";
constexpr std::size_t kLetters = 5;  // a word's: 4 + 2 + 4 + 2 + 4 bits

}  // namespace

Fingerprint fingerprint(const SitePublicKey& key) {
  Sha256 hash;
  hash.update(PublicBytes("muffle fingerprint 1\n"));
  hash.update(PublicBytes(std::as_bytes(std::span(key))));
  const Sha256Digest digest = hash.digest();
  Fingerprint out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

std::string short_fingerprint(const SitePublicKey& key) { return to_hex(fingerprint(key)).substr(0, 16); }

std::string in_words(const Fingerprint& fingerprint) {
  std::string out;
  for (std::size_t i = 0; i < fingerprint.size(); i += 2) {
    const unsigned bits = static_cast<unsigned>(fingerprint[i]) << 8 | fingerprint[i + 1];
    if (i > 0) out += '-';
    out += {kConsonants[bits >> 12], kVowels[bits >> 10 & 3], kConsonants[bits >> 6 & 15],
            kVowels[bits >> 4 & 3], kConsonants[bits & 15]};
  }
  return out;
}

std::optional<Fingerprint> parse_fingerprint(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  Fingerprint out{};
  if (from_hex(letters, out)) return out;
  if (letters.size() != out.size() / 2 * kLetters) return std::nullopt;
  for (std::size_t i = 0; i < out.size() / 2; ++i) {
    unsigned bits = 0;
    for (std::size_t l = 0; l < kLetters; ++l) {
      const bool consonant = l % 2 == 0;
      const auto at = (consonant ? kConsonants : kVowels).find(letters[i * kLetters + l]);
      if (at == std::string_view::npos) return std::nullopt;
      bits = bits << (consonant ? 4 : 2) | static_cast<unsigned>(at);
    }
    out[2 * i] = static_cast<unsigned char>(bits >> 8);
    out[2 * i + 1] = static_cast<unsigned char>(bits & 255);
  }
  return out;
}

}  // namespace muffle::crypto
