#include "muffle/site/key_store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::site {
namespace {

using test::expect_error;
namespace fs = std::filesystem;

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

class KeyStoreTest : public ::testing::Test {
 protected:
  KeyStore make() { return KeyStore::make(folder_, "NORTH", {.site = true, .key_holder = true}); }
  test::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path() / "north";
};

TEST_F(KeyStoreTest, IsReadBackAndItsCardIsItsOwn) {
  const KeyStore made = make(), opened = KeyStore::open(folder_);
  EXPECT_EQ(opened.key().public_key(), made.key().public_key());
  EXPECT_EQ(opened.card(), made.card());
  EXPECT_EQ(opened.card_bytes(), made.card_bytes());
  const release::Message card = release::parse_message(opened.card_bytes(), "card");
  EXPECT_EQ(card.header.sender, made.key().public_key());
  EXPECT_EQ(release::read_card(card.header, "card").name, "NORTH");
}

TEST_F(KeyStoreTest, SecretsAreTheirOwnersAloneAndStayOutOfBackups) {
  KeyStore store = make();
  (void)store.make_round_keys();
  EXPECT_EQ(mode_of(folder_ / "keys"), 0700u);
  EXPECT_EQ(mode_of(folder_ / "keys/round-keys"), 0700u);
  for (const char* secret :
       {"keys/site.key", "keys/box.key", "keys/round-keys/0.key", "keys/round-keys/15.key"})
    EXPECT_EQ(mode_of(folder_ / secret), 0600u) << secret;
  EXPECT_TRUE(
      read_file(folder_ / "keys/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
  // No secret half is in what everybody gets.
  const std::string key = read_file(folder_ / "keys/round-keys/3.key"),
                    published = read_file(folder_ / "round-keys/0.mfm");
  const std::string secret = key.substr(key.find("secret ") + 7, 64),
                    point = key.substr(key.find("public ") + 7, 64);
  EXPECT_EQ(published.find(secret), std::string::npos);
  EXPECT_NE(published.find(point), std::string::npos);
}

TEST_F(KeyStoreTest, KeysAreNeverOverwritten) {
  const std::string before = make().card_bytes();
  expect_error(ExitCode::kConfig, {"never overwritten"}, [&] { make(); });
  EXPECT_EQ(KeyStore::open(folder_).card_bytes(), before);
}

TEST_F(KeyStoreTest, RoundKeysAreNumberedOnAndNoNumberComesTwice) {
  KeyStore store = make();
  const auto read = [](const std::string& bytes) {
    return release::read_round_keys(release::parse_message(bytes, "keys").header, "keys");
  };
  const release::RoundKeys first = read(store.make_round_keys());
  EXPECT_EQ(first.first, 0u);
  ASSERT_EQ(first.points.size(), release::kRoundKeysAtATime);
  for (std::size_t i = 0; i < first.points.size(); ++i)
    EXPECT_EQ(store.round_key(i).point(), first.points[i]);
  for (std::uint64_t i = 0; i < 16; ++i) store.erase_round_key(i, first.points[i]);
  const release::RoundKeys second = read(KeyStore::open(folder_).make_round_keys());
  EXPECT_EQ(second.first, 16u);
  EXPECT_EQ(store.round_key(16).point(), second.points[0]);
}

TEST_F(KeyStoreTest, AnErasedKeyIsGone) {
  KeyStore store = make();
  (void)store.make_round_keys();
  const crypto::ExchangePoint point = store.round_key(4).point();
  const fs::path file = folder_ / "keys/round-keys/4.key", link = folder_ / "second-name";
  const std::string before = read_file(file);
  fs::create_hard_link(file, link);
  store.erase_round_key(4, point);
  EXPECT_FALSE(store.has_round_key(4));
  EXPECT_TRUE(store.has_round_key(5));
  EXPECT_EQ(read_file(link), std::string(before.size(), '0'));  // overwritten, not only unlinked
  expect_error(ExitCode::kConfig, {"round key 4", "erased"}, [&] { (void)store.round_key(4); });
  store.erase_round_key(4, point);
}

/// In a folder that was restored, or numbered anew, another key lies under the number.
TEST_F(KeyStoreTest, AKeyIsErasedByItsPointWhereverItLies) {
  KeyStore store = make();
  (void)store.make_round_keys();
  const crypto::ExchangePoint point = store.round_key(4).point();
  const fs::path keys = folder_ / "keys/round-keys";
  fs::rename(keys / "4.key", keys / "90.key");
  fs::rename(keys / "5.key", keys / "4.key");
  const crypto::ExchangePoint other = store.round_key(4).point();
  store.erase_round_key(4, point);
  EXPECT_FALSE(store.has_round_key(90));
  EXPECT_EQ(store.round_key(4).point(), other) << "another round's";
  // What is no key any more serves no round; another number's is left for whom it concerns.
  for (const char* name : {"6.key", "7.key"}) std::ofstream(keys / name) << "muffle-exchange-key 1\n";
  store.erase_round_key(6, point);
  EXPECT_FALSE(store.has_round_key(6));
  EXPECT_TRUE(store.has_round_key(7));
}

TEST_F(KeyStoreTest, WhatIsNoStoreOrWasChangedIsRefused) {
  expect_error(ExitCode::kConfig, {"no folder of a site", "muffle site init"},
               [&] { KeyStore::open(folder_); });
  KeyStore store = make();
  (void)store.make_round_keys();
  const fs::path key = folder_ / "keys/round-keys/0.key";
  ASSERT_EQ(::chmod(key.c_str(), 0644), 0);
  expect_error(ExitCode::kConfig, {"others than its owner", "chmod 600"}, [&] { (void)store.round_key(0); });
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  std::string text = read_file(key);
  text[text.find("public ") + 7] ^= 1;
  std::ofstream(key) << text;
  expect_error(ExitCode::kConfig, {"exchange key"}, [&] { (void)store.round_key(0); });
  std::ofstream(key) << "muffle-exchange-key 1\n";
  expect_error(ExitCode::kConfig, {"cut off"}, [&] { (void)store.round_key(0); });
  // Somebody else's card beside these keys.
  test::TemporaryFolder other;
  KeyStore::make(other.path() / "south", "SOUTH", {.site = true});
  fs::copy_file(other.path() / "south/card.mfm", folder_ / "card.mfm", fs::copy_options::overwrite_existing);
  expect_error(ExitCode::kConfig, {"not the card of the key"}, [&] { KeyStore::open(folder_); });
}

}  // namespace
}  // namespace muffle::site
