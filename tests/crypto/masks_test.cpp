#include "muffle/crypto/masks.hpp"

#include <gtest/gtest.h>

#include <concepts>

#include "crypto/mask_exchange.hpp"
#include "support/expect_error.hpp"

namespace muffle::crypto {
namespace {

using test::contribution;
using test::expect_error;
using test::MaskExchange;
using Vector = std::vector<std::uint64_t>;

// Where a hello holds the fresh public key.
constexpr std::size_t kKeyAt = 120, kHelloBytes = 152;

void expect_fails(const MaskExchange& exchange, ExitCode code, std::initializer_list<std::string> parts) {
  expect_error(code, parts, [&] { exchange.run(); });
}

TEST(Masks, ChangeNoBitOfTheSum) {
  for (int parties = 1; parties <= 4; ++parties) {
    // Lengths around the chunk of the mask's generator and none at all.
    for (const std::size_t n : {0, 1, 7, 8191, 8192, 8193, 3 * 8192 + 5}) {
      for (const bool half_empty : {false, true}) {
        for (const bool is_signed : {false, true}) {
          Vector plain(n, 0), sum(n, 0);
          int party = 0;
          for (Masks& masks : MaskExchange(parties, n, is_signed).run()) {
            Vector mine = contribution(party++, n, half_empty);
            test::add_to(plain, mine);
            std::move(masks).apply(mine);
            test::add_to(sum, mine);
          }
          EXPECT_EQ(sum, plain) << parties << " parties, " << n << " numbers";
        }
      }
    }
  }
}

// Whoever sees the vectors of some parties, or their sum, sees neither their vectors nor the sum of these:
// the masks shared with the parties outside cover each number. Only all parties together are bare. (A number
// is covered with itself with probability 2^-64.)
TEST(Masks, CoverEverySumOfSomePartiesButNotOfAll) {
  constexpr int kParties = 4;
  constexpr std::size_t kLength = 100;
  const auto masked =
      test::masked_vectors(kParties, kLength, [](int party) { return contribution(party, kLength); });
  for (unsigned subset = 1; subset < 1u << kParties; ++subset) {
    Vector seen(kLength), hidden(kLength);
    for (int r = 0; r < kParties; ++r) {
      if ((subset >> r & 1) == 0) continue;
      test::add_to(seen, masked[static_cast<std::size_t>(r)]);
      test::add_to(hidden, contribution(r, kLength));
    }
    for (std::size_t i = 0; i < kLength; ++i)
      EXPECT_EQ(seen[i] == hidden[i], subset == (1u << kParties) - 1)
          << "parties " << subset << ", number " << i;
  }
}

TEST(Masks, AreNewInEachRound) {
  std::vector<std::string> names;
  std::vector<Vector> sent;
  for (int i = 0; i < 2; ++i) {
    auto masks = MaskExchange(3, 500).run();
    for (const Masks& m : masks) EXPECT_EQ(m.name(), masks[0].name());
    names.push_back(masks[1].name());
    sent.push_back(contribution(1, 500));
    std::move(masks[1]).apply(sent.back());
  }
  EXPECT_EQ(names[0].size(), 16u);
  EXPECT_NE(names[0], names[1]);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_NE(sent[0][i], sent[1][i]);
}

template <class T>
concept UsableTwice = requires(T masks, Vector values) {
  masks.apply(values);
};

TEST(Masks, AreUsedOnce) {
  static_assert(!UsableTwice<Masks> && !std::is_copy_constructible_v<Masks> &&
                !std::is_copy_assignable_v<Masks>);
  auto masks = MaskExchange(2).run();
  Vector values{1, 2, 3};
  std::move(masks[0]).apply(values);
  const Vector sent = values;
  expect_error(ExitCode::kInvariant, {"twice"}, [&] { std::move(masks[0]).apply(values); });
  EXPECT_EQ(values, sent);
}

TEST(Masks, AreOfTheLengthAgreedOn) {
  auto masks = MaskExchange(2, 2).run();
  Vector values{1, 2, 3};
  expect_error(ExitCode::kInvariant, {"2 numbers"}, [&] { std::move(masks[0]).apply(values); });
  EXPECT_EQ(values, (Vector{1, 2, 3}));
  expect_fails(MaskExchange(1, kMaxMaskedLength + 1), ExitCode::kInvariant, {"too long"});
}

TEST(KeyExchange, AWrongOrMissingSignatureIsNamed) {
  for (int liar = 0; liar < 3; ++liar) {
    const std::string name = "party " + std::to_string(liar) + " (site 'site" + std::to_string(liar);
    MaskExchange exchange(3, 3, true);
    exchange.signatures_sent = [&](auto& all) { all[static_cast<std::size_t>(liar)].at(5) ^= 1; };
    expect_fails(exchange, ExitCode::kProtocol, {name, "is wrong"});
    for (const std::size_t length : {0, 63}) {
      exchange.signatures_sent = [&](auto& all) { all[static_cast<std::size_t>(liar)].resize(length); };
      expect_fails(exchange, ExitCode::kProtocol, {name, "is missing"});
    }
  }
}

TEST(KeyExchange, ASignatureOfAnEarlierRoundIsRefused) {
  MaskExchange exchange(2, 3, true);
  std::string recorded;
  exchange.signatures_sent = [&](auto& all) { recorded = all[1]; };
  EXPECT_NO_THROW(exchange.run());
  exchange.signatures_sent = [&](auto& all) { all[1] = recorded; };
  expect_fails(exchange, ExitCode::kProtocol, {"party 1 (site 'site1'", "is wrong"});
}

// Somebody in the middle shows one party another key than the sender's, to share a mask with it.
TEST(KeyExchange, AKeyExchangedInTheMiddleIsFoundOut) {
  for (int victim : {0, 2}) {
    MaskExchange exchange(3, 3, true);
    exchange.hellos_heard = [&](int to, auto& all) {
      if (to == victim) all.at(1).replace(kKeyAt, 32, 32, '\x42');
    };
    expect_fails(exchange, ExitCode::kProtocol, {"signature of party", "is wrong"});
  }
}

// The same, but shown to everybody, the sender included: it must not sign the foreign key as its own.
TEST(KeyExchange, APartyNoticesThatItsOwnKeyWasChanged) {
  for (const bool is_signed : {false, true}) {
    MaskExchange exchange(3, 3, is_signed);
    exchange.hellos_sent = [](auto& all) { all.at(1).replace(kKeyAt, 32, 32, '\x42'); };
    expect_fails(exchange, ExitCode::kProtocol, {"party 1's own key came back changed"});
  }
}

TEST(KeyExchange, RostersAndKeysBelongTogether) {
  const auto refused = [](ExitCode code, std::initializer_list<std::string> parts, const auto& change) {
    MaskExchange exchange(2, 3, true);
    change(exchange);
    expect_fails(exchange, code, parts);
  };
  refused(ExitCode::kConfig, {"party 1 belongs to site 'site1'", "privacy.site_key"},
          [](MaskExchange& e) { e.sites[1].key = SiteKey::generate("site1"); });
  const SiteKey other = SiteKey::generate("site0");
  refused(ExitCode::kProtocol, {"site roster differs"}, [&](MaskExchange& e) {
    const std::string forged = test::roster_line(0, other) + test::roster_line(1, e.sites[1].key);
    e.sites[1].roster = SiteRoster::parse(forged, "forged");
  });
  refused(ExitCode::kConfig, {"lists 1 parties, but 2"}, [&](MaskExchange& e) {
    e.sites[0].roster = SiteRoster::parse(test::roster_line(0, other), "short");
  });
  refused(ExitCode::kProtocol, {"site roster differs, or only one of them has one"},
          [](MaskExchange& e) { e.specs[1].identity = nullptr; });
}

TEST(KeyExchange, PointsOfSmallOrderAreRefused) {
  MaskExchange exchange(3);
  exchange.hellos_heard = [](int to, auto& all) {
    if (to == 0) all.at(1).replace(kKeyAt, 32, 32, '\0');
  };
  expect_fails(exchange, ExitCode::kProtocol, {"party 1 sent an invalid key"});
}

TEST(KeyExchange, EveryByteOfAHelloCounts) {
  const auto says = [](std::size_t at, const std::string& what) {
    MaskExchange exchange(2);
    exchange.hellos_heard = [=](int to, auto& all) {
      ASSERT_EQ(all.at(1).size(), kHelloBytes);
      if (to != 0) return;
      if (at == kHelloBytes) {
        all.at(1).pop_back();
      } else {
        all.at(1).at(at) ^= 4;
      }
    };
    expect_fails(exchange, ExitCode::kProtocol, {what});
  };
  says(0, "another version");
  says(7, "another version");
  says(8, "its place or the number");
  says(12, "its place or the number");
  says(16, "7 numbers instead of 3");
  says(24, "another proposal");
  says(56, "site roster differs");
  says(kHelloBytes, "no greeting");
}

TEST(KeyExchange, PartiesThatWantDifferentThingsAreRefused) {
  MaskExchange rounds(3), few(3);
  rounds.specs[2].round[31] ^= 1;
  expect_fails(rounds, ExitCode::kProtocol, {"another proposal", "Nothing was revealed"});
  few.hellos_heard = [](int, auto& all) { all.pop_back(); };
  expect_fails(few, ExitCode::kInvariant, {"missing"});
  KeyExchange unsigned_keys({0, 1, 3, {}, nullptr});
  expect_error(ExitCode::kInvariant, {"before they were compared"},
               [&] { std::move(unsigned_keys).finish({}); });
}

}  // namespace
}  // namespace muffle::crypto
