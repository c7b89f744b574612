#include "muffle/core/private_digest.hpp"

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <type_traits>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

namespace muffle {
namespace {

// Nothing but a comparison comes out of a digest of private bytes: no text, number, bytes or JSON.
template <class T>
constexpr bool kStreamed = requires(std::ostream& stream, const T& value) {
  stream << value;
};
template <class... T>
constexpr bool kBecomesNone =
    !(std::is_convertible_v<PrivateDigest, T> || ...) && !(std::is_constructible_v<T, PrivateDigest> || ...);
template <class T>
constexpr bool kHasStdHash = std::is_default_constructible_v<std::hash<T>>;
static_assert(kStreamed<std::uint64_t> && !kStreamed<PrivateDigest>);
static_assert(fmt::is_formattable<std::uint64_t>::value && !fmt::is_formattable<PrivateDigest>::value);
static_assert(kBecomesNone<bool, char, int, std::uint64_t, double, std::string, std::string_view,
                           nlohmann::json, Sha256Digest, std::span<const unsigned char>,
                           std::span<const std::byte>, PublicBytes, PublicFile>);
static_assert(!kHasStdHash<PrivateDigest>, "its value would be the digest");
static_assert(!std::is_trivially_copyable_v<PrivateDigest>, "std::bit_cast and messages take what is");
static_assert(!std::is_constructible_v<PrivateDigest, std::uint64_t>, "a guess can be held to none");

TEST(PrivateDigest, EqualsHaveTheSameUnderTheSameKeyAlone) {
  const std::string key = PrivateHasher::new_key();
  const PrivateHasher hasher(key), same(key), other(PrivateHasher::new_key());
  const PrivateDigest digest = hasher.hash('p', "Ann");
  EXPECT_TRUE(digest == same.hash('p', "Ann"));
  EXPECT_FALSE(digest == other.hash('p', "Ann"));
  EXPECT_FALSE(digest == hasher.hash('p', "Bob"));
  EXPECT_FALSE(digest == hasher.hash('c', "Ann"));
  EXPECT_TRUE(hasher.hash('r', digest, 1) == same.hash('r', same.hash('p', "Ann"), 1));
  EXPECT_FALSE(hasher.hash('r', digest, 1) == hasher.hash('r', digest, 2));
  EXPECT_THROW(PrivateHasher("short"), InvariantError);
}

TEST(PrivateDigest, TheOrderIsTheKeys) {
  int first = 0;
  for (int i = 0; i < 400; ++i) {
    const PrivateHasher hasher(PrivateHasher::new_key());
    first += hasher.hash('p', "Ann") < hasher.hash('p', "Bob") ? 1 : 0;
  }
  EXPECT_NEAR(first, 200, 60);  // 6 standard deviations: a false failure in 10^8 runs
}

}  // namespace
}  // namespace muffle
