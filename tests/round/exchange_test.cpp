// The promises of the table's exchanges. A new kind is tested here once it has its place in places().
#include "muffle/round/exchange.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>

#include "support/expect_error.hpp"
#ifdef MUFFLE_HTTPS
#include "support/https.hpp"
#endif
#include "support/temporary_folder.hpp"

namespace muffle::round {
namespace {

using test::expect_error;
namespace fs = std::filesystem;

/// An empty place for messages, while it lives.
struct Place {
  std::string address;
  http::ClientSettings network{};
  std::shared_ptr<void> host{};
};

/// For each kind, how a test makes one.
const std::map<std::string_view, std::function<Place(const fs::path& scratch)>>& places() {
  static const std::map<std::string_view, std::function<Place(const fs::path&)>> all{
      {"memory",
       [](const fs::path& scratch) {
         const std::string address = "memory://" + scratch.filename().string();
         return Place{address, {}, std::shared_ptr<Exchange>(make_exchange(address))};
       }},
      {"folder",
       [](const fs::path& scratch) {
         fs::create_directory(scratch / "exchange");
         return Place{(scratch / "exchange").string()};
       }},
      {"https", [](const fs::path& scratch) {
#ifdef MUFFLE_HTTPS
         const auto host = std::make_shared<test::HttpsPlace>(scratch);
         return Place{host->server.address(), host->settings, host};
#else
         return Place{};
#endif
       }}};
  return all;
}

class EveryExchange : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (place_.address.empty()) GTEST_SKIP() << "this muffle was built without HTTPS";
    exchange_ = open();
  }
  /// A party at this place.
  std::unique_ptr<Exchange> open() const { return make_exchange(place_.address, place_.network); }

  test::TemporaryFolder scratch_;
  Place place_ = places().at(GetParam())(scratch_.path());
  std::unique_ptr<Exchange> exchange_;
};

TEST(Exchanges, EveryKindHasAPlaceInTheseTests) {
  for (const ExchangeKind& kind : exchange_kinds()) EXPECT_TRUE(places().contains(kind.name)) << kind.name;
  EXPECT_EQ(exchange_kinds().size(), places().size());
}

TEST_P(EveryExchange, CarriesMessagesAsTheyAre) {
  EXPECT_TRUE(exchange_->list().empty());
  EXPECT_EQ(exchange_->get("proposal", 100), std::nullopt);
  std::string every(256, '\0');
  for (int b = 0; b < 256; ++b) every[static_cast<std::size_t>(b)] = static_cast<char>(b);
  const std::map<std::string, std::string> messages{
      {"proposal", every}, {"contribution-North.1", std::string(9'000'000, 'x')}, {"empty", ""}, {"9", "9"}};
  for (const auto& [name, bytes] : messages) exchange_->put(name, bytes);
  // Another party at the same place.
  const std::unique_ptr<Exchange> other = open();
  EXPECT_EQ(other->list(), (std::vector<std::string>{"9", "contribution-North.1", "empty", "proposal"}));
  for (const auto& [name, bytes] : messages) EXPECT_EQ(other->get(name, bytes.size()), bytes) << name;
}

TEST_P(EveryExchange, AMessageIsNeverReplaced) {
  exchange_->put("seal", "one");
  EXPECT_NO_THROW(exchange_->put("seal", "one")) << "sent again, as after a crash";
  for (const char* other : {"two", "one more", ""})
    expect_error(ExitCode::kProtocol, {"seal", "is there already"}, [&] { exchange_->put("seal", other); });
  EXPECT_EQ(exchange_->get("seal", 100), "one");
}

TEST_P(EveryExchange, NoMessageIsLargerThanItMayBe) {
  exchange_->put("opening", std::string(1000, 'x'));
  EXPECT_EQ(exchange_->get("opening", 1000)->size(), 1000u);
  expect_error(ExitCode::kProtocol, {"opening", "999"}, [&] { (void)exchange_->get("opening", 999); });
}

TEST_P(EveryExchange, NamesAreFilesNamesEverywhere) {
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "../up", "a b", "a\n", "\xc3\xa9", "-a"}) {
    EXPECT_FALSE(is_message_name(name)) << name;
    expect_error(ExitCode::kInvariant, {"no name of a message"}, [&] { exchange_->put(name, "x"); });
    expect_error(ExitCode::kInvariant, {"no name of a message"}, [&] { (void)exchange_->get(name, 1); });
  }
  EXPECT_FALSE(is_message_name(std::string(129, 'a')));
  EXPECT_TRUE(is_message_name(std::string(128, 'a')));
  EXPECT_TRUE(is_message_name("0pening-a.B_c"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryExchange, testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const ExchangeKind& kind : exchange_kinds()) names.push_back(kind.name);
                           return names;
                         }()),
                         [](const auto& one) { return std::string(one.param); });

TEST(MemoryExchange, IsOnePlaceForAnAddressWhileSomebodyHasIt) {
  std::unique_ptr<Exchange> exchange = make_exchange("memory://one");
  exchange->put("proposal", "p");
  EXPECT_EQ(make_exchange("memory://one")->list(), std::vector<std::string>{"proposal"});
  EXPECT_TRUE(make_exchange("memory://two")->list().empty());
  exchange.reset();
  EXPECT_TRUE(make_exchange("memory://one")->list().empty());
  EXPECT_FALSE(is_far("memory://one"));
  for (const char* none : {"memory://", "memory:///tmp/x"})
    expect_error(ExitCode::kConfig, {none, "needs a name"}, [&] { make_exchange(none); });
}

TEST(FolderExchange, LeavesOutWhatIsNoMessageAndFollowsNoFifo) {
  const test::TemporaryFolder scratch;
  const std::unique_ptr<Exchange> exchange = make_exchange(scratch.path().string());
  exchange->put("proposal", "p");
  std::ofstream(scratch.path() / ".proposal.tmp.abc") << "half";
  std::ofstream(scratch.path() / "read me.txt") << "notes";
  EXPECT_EQ(exchange->list(), std::vector<std::string>{"proposal"});
  ASSERT_EQ(::mkfifo((scratch.path() / "seal").c_str(), 0600), 0);
  expect_error(ExitCode::kIo, {"not a regular file"}, [&] { (void)exchange->get("seal", 10); });
  expect_error(ExitCode::kIo, {"not a regular file"}, [&] { exchange->put("seal", "s"); });
}

TEST(FolderExchange, AFolderThatIsNotThereIsNoEmptyOne) {
  const test::TemporaryFolder scratch;
  expect_error(ExitCode::kIo, {"there is no folder", "mount it"},
               [&] { make_exchange((scratch.path() / "share").string()); });
  expect_error(ExitCode::kConfig, {"gopher://x", "no place"}, [] { make_exchange("gopher://x"); });
}

}  // namespace
}  // namespace muffle::round
