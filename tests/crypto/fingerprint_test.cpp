#include "muffle/crypto/fingerprint.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "muffle/core/hash.hpp"

namespace muffle::crypto {
namespace {

TEST(Fingerprint, IsTheBeginningOfAHashUnderALineOfItsOwn) {
  SitePublicKey key{};
  std::string text = "muffle fingerprint 1\n";
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<unsigned char>(3 * i + 1);
    text += static_cast<char>(key[i]);
  }
  const std::string hash = to_hex(sha256(PublicBytes(text)));
  EXPECT_EQ(to_hex(fingerprint(key)), hash.substr(0, 32));
  EXPECT_EQ(short_fingerprint(key), hash.substr(0, 16));
  SitePublicKey other = key;
  other[31] ^= 1;
  EXPECT_NE(fingerprint(other), fingerprint(key));
}

/// The addresses that Wilkerson's page on proquints spells (arXiv 0901.4016).
TEST(Fingerprint, WordsAreProquints) {
  const Fingerprint addresses{127, 0, 0, 1, 63, 84, 220, 193, 63, 118, 7, 35, 140, 98, 193, 141};
  EXPECT_EQ(in_words(addresses), "lusab-babad-gutih-tugad-gutuk-bisog-mudof-sakat");
}

TEST(Fingerprint, IsReadInWordsAndInDigitsHoweverTheyWereTyped) {
  Fingerprint one{};
  for (std::size_t i = 0; i < one.size(); ++i) one[i] = static_cast<unsigned char>(37 * i + 11);
  const std::string words = in_words(one), digits = to_hex(one);
  std::string shouted = words, spaced = words;
  std::transform(words.begin(), words.end(), shouted.begin(),
                 [](char c) { return c == '-' ? '-' : char(c - 32); });
  std::replace(spaced.begin(), spaced.end(), '-', ' ');
  for (const std::string& text :
       {words, shouted, spaced, digits, digits.substr(0, 16) + " " + digits.substr(16)})
    EXPECT_EQ(parse_fingerprint(text), one) << text;
  std::string wrong = words;
  wrong[1] = 'e';
  for (const std::string& text :
       {std::string(), wrong, words.substr(1), words + "-babad", digits + "00", digits.substr(2)})
    EXPECT_EQ(parse_fingerprint(text), std::nullopt) << text;
}

/// No two fingerprints have the same words: every 16 bits are spelled and read back.
TEST(Fingerprint, EveryWordHasItsBits) {
  for (unsigned bits = 0; bits < 1u << 16; ++bits) {
    Fingerprint one{};
    one[6] = static_cast<unsigned char>(bits >> 8);
    one[7] = static_cast<unsigned char>(bits & 255);
    ASSERT_EQ(parse_fingerprint(in_words(one)), one) << bits;
  }
}

}  // namespace
}  // namespace muffle::crypto
