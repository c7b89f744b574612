#include "muffle/crypto/pair_keys.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <bit>
#include <map>
#include <set>

#include "crypto/mask_exchange.hpp"
#include "support/expect_error.hpp"

namespace muffle::crypto {
namespace {

using test::expect_error;

std::array<unsigned char, 32> filled(int with) {
  std::array<unsigned char, 32> bytes;
  bytes.fill(static_cast<unsigned char>(with));
  return bytes;
}

/// 32 bytes that count up from `first`.
SecretBytes counting(int first) {
  SecretBytes out(32);
  for (int i = 0; i < 32; ++i) out.get()[i] = static_cast<unsigned char>(first + i);
  return out;
}

struct Pair {
  ExchangeKey site = ExchangeKey::generate(), holder = ExchangeKey::generate();
  PairContext context{filled(1), filled(2), filled(3), site.point(), holder.point()};
};

std::vector<std::uint64_t> stream_of(PairKey&& key, std::size_t n = 10) {
  std::vector<std::uint64_t> out(n, 0);
  std::move(key).add_to(out);
  return out;
}

// By Python's hashlib and cryptography: X25519, BLAKE2b and ChaCha20 with nothing of libsodium.
TEST(PairKeys, AreWhatAnotherLibraryMakesOfTheProtocol) {
  const ExchangeKey site(counting(0)), holder(counting(100));
  EXPECT_EQ(to_hex(site.point()), "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f");
  const PairContext context{filled(1), filled(2), filled(3), site.point(), holder.point()};
  PairKey key(site, context);
  EXPECT_EQ(to_hex(key.commitment()), "2fc70a86a73bc8f7b5f8225a2b65811145aaa71623f4ac9a60e476e5d439b499");
  EXPECT_EQ(to_hex(key.mac("header")), "6ef742d8858469e90a96aae90e2e13eb");
  const std::vector<std::uint64_t> stream = stream_of(std::move(key), 10'000);
  EXPECT_EQ(stream[0], 18198671150664533301u);
  EXPECT_EQ(stream[1], 4496391764565443546u);
  EXPECT_EQ(stream[9999], 10495248035127344212u) << "in the second chunk";
}

TEST(PairKeys, BothSidesMakeTheSame) {
  const Pair pair;
  PairKey at_site(pair.site, pair.context), at_holder(pair.holder, pair.context);
  EXPECT_EQ(at_site.commitment(), at_holder.commitment());
  const PairMac mac = at_site.mac("what is sent");
  EXPECT_TRUE(at_holder.has_made(mac, "what is sent"));
  EXPECT_FALSE(at_holder.has_made(mac, "what is sent."));
  for (std::size_t bit = 0; bit < 8 * mac.size(); ++bit) {
    PairMac other = mac;
    other[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    EXPECT_FALSE(at_holder.has_made(other, "what is sent"));
  }
  EXPECT_EQ(stream_of(std::move(at_site), 20'000), stream_of(std::move(at_holder), 20'000));
}

TEST(PairKeys, DependOnEverythingThatTheyAreFor) {
  const Pair pair;
  std::set<std::vector<std::uint64_t>> streams{stream_of(PairKey(pair.site, pair.context))};
  std::set<PairCommitment> commitments{PairKey(pair.site, pair.context).commitment()};
  std::set<PairMac> macs{PairKey(pair.site, pair.context).mac("h")};
  std::size_t tried = 1;
  const auto other = [&](const ExchangeKey& mine, const PairContext& context) {
    ++tried;
    streams.insert(stream_of(PairKey(mine, context)));
    commitments.insert(PairKey(mine, context).commitment());
    macs.insert(PairKey(mine, context).mac("h"));
  };
  for (const auto field : {&PairContext::round, &PairContext::site, &PairContext::holder}) {
    PairContext context = pair.context;
    (context.*field)[31] ^= 1;
    other(pair.site, context);
  }
  const Pair second;
  other(pair.site, {filled(1), filled(2), filled(3), pair.site.point(), second.holder.point()});
  other(second.site, {filled(1), filled(2), filled(3), second.site.point(), pair.holder.point()});
  PairContext exchanged = pair.context;
  std::swap(exchanged.site, exchanged.holder);
  other(pair.site, exchanged);
  EXPECT_EQ(streams.size(), tried);
  EXPECT_EQ(commitments.size(), tried);
  EXPECT_EQ(macs.size(), tried);
}

TEST(PairKeys, StreamsAreUsedOnceAndByTheirOwners) {
  const Pair pair;
  PairKey key(pair.site, pair.context);
  std::vector<std::uint64_t> values(4, 0);
  std::move(key).add_to(values);
  // NOLINTBEGIN(bugprone-use-after-move)
  expect_error(ExitCode::kInvariant, {"twice"}, [&] { std::move(key).add_to(values); });
  expect_error(ExitCode::kInvariant, {"after its stream"}, [&] { (void)key.mac("h"); });
  expect_error(ExitCode::kInvariant, {"after its stream"}, [&] { (void)key.commitment(); });
  // NOLINTEND(bugprone-use-after-move)
  expect_error(ExitCode::kInvariant, {"neither side"},
               [&] { PairKey(ExchangeKey::generate(), pair.context); });
  for (const int first : {0, 1}) {  // the points 0 and 1 are of small order
    PairContext context = pair.context;
    context.holder_point = {};
    context.holder_point[0] = static_cast<unsigned char>(first);
    expect_error(ExitCode::kProtocol, {"small order"}, [&] { PairKey(pair.site, context); });
  }
}

// A machine that is restored with its entropy: the same vector again, or other masks.
TEST(PairKeys, AContributionsKeyIsHedged) {
  const std::vector<std::uint64_t> bare{1, 2, 3}, other{1, 2, 4};
  const SecretBytes fresh = counting(7);
  const auto point = [&](int round, const std::vector<std::uint64_t>& vector) {
    return ExchangeKey::for_vector(filled(round), vector, fresh).point();
  };
  EXPECT_EQ(point(1, bare), point(1, bare));
  EXPECT_NE(point(1, bare), point(1, other));
  EXPECT_NE(point(1, bare), point(2, bare));
  EXPECT_NE(ExchangeKey::for_vector(filled(1), bare).point(),
            ExchangeKey::for_vector(filled(1), bare).point());
}

/// Sites and key holders who mask and open, without any message between them.
struct Round {
  static constexpr int kSites = 5, kHolders = 3;
  static constexpr std::size_t kLength = 3000;
  std::vector<ExchangeKey> sites, holders;
  std::vector<std::vector<std::uint64_t>> masked;

  Round() {
    for (int h = 0; h < kHolders; ++h) holders.push_back(ExchangeKey::generate());
    for (int i = 0; i < kSites; ++i) {
      masked.push_back(test::contribution(i, kLength));
      sites.push_back(ExchangeKey::for_vector(filled(9), masked.back()));
      for (int h = 0; h < kHolders; ++h) PairKey(sites.back(), context(i, h)).add_to(masked.back());
    }
  }
  PairContext context(int site, int holder) const {
    return {filled(9), filled(100 + site), filled(200 + holder),
            sites[static_cast<std::size_t>(site)].point(), holders[static_cast<std::size_t>(holder)].point()};
  }
  std::vector<std::uint64_t> opening(int holder, const std::vector<int>& seal) const {
    std::vector<std::uint64_t> out(kLength, 0);
    for (const int i : seal)
      PairKey(holders[static_cast<std::size_t>(holder)], context(i, holder)).add_to(out);
    return out;
  }
  /// What is left of the sealed contributions' sum when each holder has opened a seal.
  std::vector<std::uint64_t> left(const std::vector<int>& seal,
                                  const std::vector<std::vector<int>>& opened) const {
    std::vector<std::uint64_t> out(kLength, 0);
    for (const int i : seal) test::add_to(out, masked[static_cast<std::size_t>(i)]);
    for (int h = 0; h < kHolders; ++h) {
      const std::vector<std::uint64_t> o = opening(h, opened[static_cast<std::size_t>(h)]);
      for (std::size_t n = 0; n < kLength; ++n) out[n] -= o[n];
    }
    return out;
  }
};

/// Share of ones among the bits: of uniform numbers 0.5 +- 0.0011.
double ones(const std::vector<std::uint64_t>& values) {
  double sum = 0;
  for (const std::uint64_t v : values) sum += std::popcount(v);
  return sum / (64.0 * static_cast<double>(values.size()));
}

TEST(PairKeys, OneSealOpensItsSumBitForBit) {
  const Round round;
  for (const std::vector<int>& seal : {std::vector{0, 1, 2, 3, 4}, {0, 1, 3, 4}, {2}, {4, 1}}) {
    std::vector<std::uint64_t> expected(Round::kLength, 0);
    for (const int i : seal) test::add_to(expected, test::contribution(i, Round::kLength));
    EXPECT_EQ(round.left(seal, {seal, seal, seal}), expected);
  }
}

// A coordinator that shows the holders different seals opens nothing (theorem 3): what is left is covered by
// a stream that nobody gave it. Each share of ones misses its bound by chance with probability below 1e-12.
TEST(PairKeys, TwoSealsOpenNothing) {
  const Round round;
  const std::vector<int> all{0, 1, 2, 3, 4}, fewer{0, 1, 2, 3};
  std::vector<std::uint64_t> total(Round::kLength, 0), part(Round::kLength, 0);
  for (const int i : all) test::add_to(total, test::contribution(i, Round::kLength));
  for (const int i : fewer) test::add_to(part, test::contribution(i, Round::kLength));
  for (const std::vector<int>& seal : {all, fewer}) {
    for (int odd = 0; odd < Round::kHolders; ++odd) {
      std::vector<std::vector<int>> opened(Round::kHolders, all);
      opened[static_cast<std::size_t>(odd)] = fewer;
      for (const std::vector<std::uint64_t>& sum : {total, part}) {
        std::vector<std::uint64_t> left = round.left(seal, opened);
        for (std::size_t n = 0; n < left.size(); ++n) left[n] -= sum[n];
        EXPECT_NEAR(ones(left), 0.5, 0.0082);
      }
    }
  }
  // And a holder who does not answer keeps all covered.
  std::vector<std::uint64_t> left = round.left(all, {all, all, {}});
  for (std::size_t n = 0; n < left.size(); ++n) left[n] -= total[n];
  EXPECT_NEAR(ones(left), 0.5, 0.0082);
}

}  // namespace
}  // namespace muffle::crypto
