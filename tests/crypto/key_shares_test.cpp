// A stream's key in shares, the boxes in which they travel, and the file where a key holder keeps its own.
#include "muffle/crypto/key_shares.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <set>

#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::crypto {
namespace key_shares_test {

using test::expect_error;
using Share = StreamKey::Share;

std::array<unsigned char, 32> filled(int with) {
  std::array<unsigned char, 32> bytes;
  bytes.fill(static_cast<unsigned char>(with));
  return bytes;
}

struct Pair {
  ExchangeKey site = ExchangeKey::generate(), holder = ExchangeKey::generate();
  PairContext context{filled(1), filled(2), filled(3), site.point(), holder.point()};
};

std::vector<Share> shares_of(const StreamKey& key, std::size_t parties, std::size_t least) {
  const SecretBytes split = key.split(parties, least);
  std::vector<Share> out(parties);
  for (std::size_t p = 0; p < parties; ++p) {
    out[p].party = p;
    std::memcpy(out[p].bytes.data(), split.get() + 32 * p, 32);
  }
  return out;
}

/// The shares of the parties whose bits are set.
std::vector<Share> chosen(const std::vector<Share>& all, unsigned parties) {
  std::vector<Share> out;
  for (const Share& share : all) {
    if ((parties >> share.party & 1u) != 0) out.push_back(share);
  }
  return out;
}

TEST(KeyShares, AsManyAsAreNeededMakeTheKeyAndFewerMakeAnother) {
  const Pair pair;
  const PairKey key(pair.site, pair.context);
  for (const auto& [parties, least] : {std::pair{4u, 3u}, {5u, 4u}, {8u, 6u}, {10u, 8u}}) {
    const std::vector<Share> all = shares_of(key.stream(), parties, least);
    for (unsigned set = 1; set < 1u << parties; ++set) {
      const auto count = static_cast<unsigned>(std::popcount(set));
      if (count + 1 < least) continue;
      EXPECT_EQ(StreamKey::rebuild(chosen(all, set), pair.context).commitment() == key.commitment(),
                count >= least)
          << count << " of " << parties;
    }
  }
}

TEST(KeyShares, ARebuiltKeyMakesTheSameStreamOnce) {
  const Pair pair;
  PairKey key(pair.site, pair.context);
  const std::vector<Share> all = shares_of(key.stream(), 4, 3);
  std::vector<std::uint64_t> stream(20'000, 7), again = stream;
  std::move(key).add_to(stream);
  StreamKey rebuilt = StreamKey::rebuild(chosen(all, 0b1011), pair.context);
  std::move(rebuilt).add_to(again);
  EXPECT_EQ(again, stream);
  // NOLINTNEXTLINE(bugprone-use-after-move)
  expect_error(ExitCode::kInvariant, {"twice"}, [&] { std::move(rebuilt).add_to(again); });
}

/// In GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
unsigned times(unsigned a, unsigned b) {
  unsigned out = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1u) != 0) out ^= a;
    a = (a << 1) ^ ((a & 0x80u) != 0 ? 0x11du : 0u);
  }
  return out & 0xffu;
}
unsigned inverse(unsigned a) {
  unsigned out = 1;
  for (int i = 0; i < 254; ++i) out = times(out, a);
  return out;
}

// Byte by byte a share is a polynomial's value: any further share is what Lagrange makes of as many as are
// needed.
TEST(KeyShares, LieOnAPolynomialOfTheRightDegree) {
  const Pair pair;
  const PairKey key(pair.site, pair.context);
  const std::vector<Share> all = shares_of(key.stream(), 6, 4);
  std::set<unsigned> leading;
  for (std::size_t byte = 0; byte < 32; ++byte) {
    const auto from = [&](std::size_t count, unsigned at) {
      unsigned sum = 0;
      for (unsigned i = 1; i <= count; ++i) {
        unsigned term = all[i - 1].bytes[byte];
        for (unsigned j = 1; j <= count; ++j) {
          if (j != i) term = times(term, times(at ^ j, inverse(i ^ j)));
        }
        sum ^= term;
      }
      return sum;
    };
    EXPECT_EQ(from(4, 5), all[4].bytes[byte]);
    EXPECT_EQ(from(4, 6), all[5].bytes[byte]);
    leading.insert(from(3, 5) ^ all[4].bytes[byte]);
  }
  EXPECT_GT(leading.size(), 8u) << "its highest coefficient is drawn, for each byte";
}

// Two draws of shares differ at every party, so that libgfshare has an entropy source (it ships none).
TEST(KeyShares, AreDrawnAnewEachTime) {
  const Pair pair;
  const PairKey key(pair.site, pair.context);
  std::set<KeyShare> seen;
  for (int draw = 0; draw < 8; ++draw) {
    for (const Share& share : shares_of(key.stream(), 4, 3)) seen.insert(share.bytes);
  }
  EXPECT_EQ(seen.size(), 32u);
  expect_error(ExitCode::kInvariant, {"bug"}, [&] { (void)key.stream().split(4, 1); });
  expect_error(ExitCode::kInvariant, {"bug"}, [&] { (void)key.stream().split(4, 5); });
  expect_error(ExitCode::kInvariant, {"twice"}, [&] {
    const Share one{2, filled(1)};
    (void)StreamKey::rebuild(std::vector{one, one}, pair.context);
  });
}

TEST(Boxes, OpenForTheOtherSideAloneAndAsTheyWereMade) {
  const Pair pair;
  const PairKey site(pair.site, pair.context), holder(pair.holder, pair.context);
  const std::vector<unsigned char> secret{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<unsigned char> found(secret.size());
  const std::string box = site.box(secret);
  EXPECT_EQ(box.size(), secret.size() + PairKey::kBoxOverhead);
  EXPECT_TRUE(holder.open_box(box, found));
  EXPECT_EQ(found, secret);
  for (std::size_t bit = 0; bit < 8 * box.size(); ++bit) {
    std::string other = box;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(holder.open_box(other, found)) << bit;
  }
  EXPECT_FALSE(holder.open_box(box.substr(0, box.size() - 1), found));
  EXPECT_FALSE(holder.open_box("", found));
  // Of another round, site, holder or key: a copy opens nothing.
  for (const auto field : {&PairContext::round, &PairContext::site, &PairContext::holder}) {
    PairContext context = pair.context;
    (context.*field)[0] ^= 1;
    EXPECT_FALSE(PairKey(pair.holder, context).open_box(box, found));
  }
  const Pair other;
  EXPECT_FALSE(
      PairKey(pair.holder, {filled(1), filled(2), filled(3), other.site.point(), pair.holder.point()})
          .open_box(box, found));
  // A machine that was restored seals the same alike, and anything else under another nonce.
  EXPECT_EQ(site.box(secret), box);
  std::vector<unsigned char> more = secret;
  ++more[0];
  EXPECT_NE(site.box(more).substr(0, 12), box.substr(0, 12));
}

TEST(HeldShares, AreKeptForOneSealByTheirOwner) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "shares";
  HeldShares held({1}, 3, 4);
  held.at(2, 1)[31] = 9;
  held.save(file);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  const HeldShares again = HeldShares::load(file, {1}, 3, 4);
  EXPECT_EQ(again.share(0, 2, 1).bytes[31], 9);
  EXPECT_EQ(again.share(3, 2, 1).party, 3u);
  EXPECT_EQ(again.share(0, 2, 0).bytes, KeyShare{});
  expect_error(ExitCode::kInvariant, {"nobody"}, [&] { (void)again.share(0, 3, 0); });
  expect_error(ExitCode::kConfig, {"another seal"}, [&] { (void)HeldShares::load(file, {2}, 3, 4); });
  expect_error(ExitCode::kConfig, {"cut off"}, [&] { (void)HeldShares::load(file, {1}, 4, 4); });
  held.at(0, 0)[0] = 1;
  held.save(file);  // over what a crash may have left
  EXPECT_EQ(HeldShares::load(file, {1}, 3, 4).share(0, 0, 0).bytes[0], 1);
  const std::string bytes = read_file(file);
  std::filesystem::remove(file);
  write_file_atomically(file, bytes.substr(0, bytes.size() - 1));
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  expect_error(ExitCode::kConfig, {"cut off"}, [&] { (void)HeldShares::load(file, {1}, 3, 4); });
  std::filesystem::permissions(file, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  expect_error(ExitCode::kConfig, {"others than its owner"},
               [&] { (void)HeldShares::load(file, {1}, 3, 4); });
}

}  // namespace key_shares_test
}  // namespace muffle::crypto
