#include "muffle/crypto/site_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <type_traits>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::crypto {
namespace {

using test::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;

/// RFC 8032, section 7.1, test 2: a secret key, its public key, and the signature of the byte 0x72.
constexpr char kRfcKey[] =
    "muffle-site-key 1\n"
    "site clinic\n"
    "secret 4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n"
    "public 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c\n";

TEST(SiteKeyTest, SignsAsRfc8032Says) {
  const SiteKey key = SiteKey::parse(kRfcKey, "rfc");
  EXPECT_EQ(key.name(), "clinic");
  const SiteSignature signature = key.sign("\x72");
  SitePublicKey half{};
  std::copy_n(signature.begin(), half.size(), half.begin());
  EXPECT_EQ(to_hex(half), "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da");
  std::copy_n(signature.begin() + 32, half.size(), half.begin());
  EXPECT_EQ(to_hex(half), "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(SiteKeyTest, OnlyTheRightKeyAndMessageVerify) {
  const SiteKey a = SiteKey::generate("a"), b = SiteKey::generate("b");
  const SiteSignature signature = a.sign("sum");
  EXPECT_TRUE(verify(a.public_key(), "sum", signature));
  EXPECT_FALSE(verify(b.public_key(), "sum", signature));
  EXPECT_FALSE(verify(a.public_key(), "sun", signature));
  for (const std::size_t i : {0, 31, 32, 63}) {
    SiteSignature bad = signature;
    bad[i] ^= 1;
    EXPECT_FALSE(verify(a.public_key(), "sum", bad)) << i;
  }
}

TEST(SiteKeyTest, CannotBeCopied) {
  static_assert(!std::is_copy_constructible_v<SiteKey> && !std::is_copy_assignable_v<SiteKey>);
  static_assert(std::is_nothrow_move_constructible_v<SiteKey>);
  SiteKey a = SiteKey::generate("a");
  const SiteKey b = std::move(a);
  EXPECT_TRUE(verify(b.public_key(), "x", b.sign("x")));
  expect_error(ExitCode::kInvariant, {"moved"}, [&] { a.sign("x"); });
}

TEST(SiteKeyTest, FilesComeBackAndAreTheOwnersAlone) {
  const test::TemporaryFolder folder;
  const auto path = folder / "north.key";
  const SiteKey key = SiteKey::generate("north");
  key.save(path);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const SiteKey again = SiteKey::load(path);
  EXPECT_EQ(again.name(), "north");
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_TRUE(verify(key.public_key(), "x", again.sign("x")));

  expect_error(ExitCode::kIo, {"never overwritten", path.string()}, [&] { key.save(path); });
  EXPECT_EQ(SiteKey::load(path).public_key(), key.public_key());

  for (const mode_t mode : {0640, 0604, 0620, 0660}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    expect_error(ExitCode::kConfig, {"chmod 600", path.string()}, [&] { SiteKey::load(path); });
  }
  expect_error(ExitCode::kIo, {"missing.key"}, [&] { SiteKey::load(folder / "missing.key"); });
  ASSERT_EQ(::mkfifo((folder / "fifo.key").c_str(), 0600), 0);
  expect_error(ExitCode::kIo, {"fifo.key", "not a regular file; a secret key is needed"},
               [&] { SiteKey::load(folder / "fifo.key"); });
  expect_error(ExitCode::kIo, {"no-folder"}, [&] { key.save(folder / "no-folder/x.key"); });
}

TEST(SiteKeyTest, BadFilesAreRefusedWithoutShowingTheSecret) {
  const std::string good = kRfcKey;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("\n"), changed("key 1", "key 2"), changed("4ccd", "4ccx"),
        changed("4ccd", "4cc"), changed("3d40", "3d41"), changed("site clinic", "site -clinic"),
        changed("site clinic\n", ""), changed("site clinic", "site a b"), changed("secret", "secrets"),
        good + "secret 4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n"}) {
    const std::string text =
        expect_error(ExitCode::kConfig, {"bad.key", "keygen"}, [&] { SiteKey::parse(bad, "bad.key"); });
    EXPECT_THAT(text, Not(HasSubstr("4cc"))) << "a key file's content stays out of messages";
  }
}

TEST(SiteKeyTest, NamesAreChecked) {
  for (const char* name : {"a", "Clinic-7_b.example", "0"}) EXPECT_TRUE(valid_site_name(name)) << name;
  for (const char* name : {"", "-a", ".", "../a", "a b", "a/b", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(valid_site_name(name)) << name;
    expect_error(ExitCode::kConfig, {"site name"}, [&] { SiteKey::generate(name); });
  }
  EXPECT_TRUE(valid_site_name(std::string(64, 'x')));
  EXPECT_FALSE(valid_site_name(std::string(65, 'x')));
}

const std::string kKeyA(64, 'a'), kKeyB(64, 'b');

TEST(SiteRosterTest, ReadsPartiesInAnyOrder) {
  const SiteRoster roster =
      SiteRoster::parse("# three parties, two sites\n\n2 south " + kKeyB + "\n0\tnorth  " + kKeyA +
                            " # head office\r\n1 north " + kKeyA,
                        "roster");
  ASSERT_EQ(roster.parties(), 3);
  EXPECT_EQ(roster.at(0).name, "north");
  EXPECT_EQ(roster.at(1).name, "north");
  EXPECT_EQ(roster.at(2).name, "south");
  EXPECT_EQ(to_hex(roster.at(2).key), kKeyB);
}

TEST(SiteRosterTest, HashSeesMeaningNotLayout) {
  const auto hash = [](const std::string& text) { return SiteRoster::parse(text, "roster").hash(); };
  const std::string plain = "0 a " + kKeyA + "\n1 b " + kKeyB + "\n";
  EXPECT_EQ(hash(plain), hash("1 b " + kKeyB + " # late\n\n0  a " + kKeyA));
  EXPECT_NE(hash(plain), hash("0 a " + kKeyB + "\n1 b " + kKeyA));
  EXPECT_NE(hash(plain), hash("0 a " + kKeyA + "\n1 c " + kKeyB));
  EXPECT_NE(hash(plain), hash("0 a " + kKeyA));
}

TEST(SiteRosterTest, ProblemsNameTheLine) {
  const auto refuse = [](const std::string& text, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts, [&] { SiteRoster::parse(text, "sites.txt"); });
  };
  const std::string first = "0 a " + kKeyA + "\n";
  refuse("", {"sites.txt", "no party"});
  refuse("# nothing\n", {"no party"});
  refuse("1 a " + kKeyA, {"party 0 is missing"});
  refuse(first + "2 b " + kKeyB, {"party 1 is missing"});
  refuse(first + "0 a " + kKeyA, {"line 2", "twice"});
  refuse(first + "1 a " + kKeyB, {"line 2", "share a name or a key"});
  refuse(first + "1 b " + kKeyA, {"line 2", "share a name or a key"});
  refuse(first + "one b " + kKeyB, {"line 2", "no party's number"});
  refuse(first + "-1 b " + kKeyB, {"line 2", "no party's number"});
  refuse(first + "99999999999999999999 b " + kKeyB, {"line 2", "no party's number"});
  refuse(first + "1 ../b " + kKeyB, {"line 2", "site name"});
  refuse(first + "1 b " + kKeyB + "0", {"line 2", "64 hexadecimal"});
  refuse(first + "1 b " + kKeyB + " extra", {"line 2", "4 words"});
}

TEST(SiteFilesTest, DamagedTextIsReadOrRefusedNeverWorse) {
  test::Mutator mutate(7);
  const std::string roster = "0 north " + kKeyA + "\n1 south " + kKeyB + "\n";
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    try {
      SiteRoster::parse(mutate(roster), "roster");
    } catch (const ConfigError&) {
      ++refused;
    }
    try {
      SiteKey::parse(mutate(kRfcKey), "key");
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 4000);
}

}  // namespace
}  // namespace muffle::crypto
