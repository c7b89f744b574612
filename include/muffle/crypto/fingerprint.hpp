#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

/// What people compare to know that a public key is somebody's: the first 128 bits of SHA-256 of
/// "muffle fingerprint 1\n" and the key. Nobody finds another key with the same fingerprint. Public.
using Fingerprint = std::array<unsigned char, 16>;

Fingerprint fingerprint(const SitePublicKey& key);
/// Its first 16 hexadecimal digits: tells the parties of a round apart in the names of files, and vouches for
/// nothing.
std::string short_fingerprint(const SitePublicKey& key);

/// For the telephone: eight words of five letters, such as "lusab-babad-gutih-tugad-...". Each is 16 bits,
/// the highest first, as consonant, vowel, consonant, vowel, consonant: 4 bits a consonant (b d f g h j k l m
/// n p r s t v z), 2 bits a vowel (a i o u). These are Wilkerson's "proquints" (arXiv 0901.4016).
std::string in_words(const Fingerprint& fingerprint);
/// Reads the words, or 32 hexadecimal digits, in either case, with blanks or hyphens between them. None: it
/// is neither.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

}  // namespace muffle::crypto
