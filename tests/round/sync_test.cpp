#include "muffle/round/sync.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::round {
namespace {

using test::expect_error;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Sync : public testing::Test {
 protected:
  std::unique_ptr<Exchange> folder(const std::string& name) const {
    fs::create_directories(scratch_ / name);
    return make_exchange((scratch_ / name).string());
  }
  test::TemporaryFolder scratch_;
  std::unique_ptr<Exchange> local_ = folder("local"), remote_ = folder("remote");
};

TEST_F(Sync, CarriesBothWaysAndThenNothing) {
  local_->put("a-contribution", "mine");
  remote_->put("b-contribution", "theirs");
  remote_->put("0123456789abcdef-proposal.mfm", "proposal");
  local_->put("both", "same");
  remote_->put("both", "same");
  const Synced first = synchronise(*local_, *remote_, {"a-contribution"});
  EXPECT_EQ(first.fetched, (Names{"0123456789abcdef-proposal.mfm", "b-contribution"}))
      << "a proposal before what answers it";
  EXPECT_EQ(first.sent, Names{"a-contribution"});
  EXPECT_EQ(local_->list(), remote_->list());
  EXPECT_EQ(local_->get("b-contribution", 100), "theirs");
  EXPECT_EQ(remote_->get("a-contribution", 100), "mine");
  const Synced again = synchronise(*local_, *remote_, {"a-contribution"});
  EXPECT_TRUE(again.fetched.empty());
  EXPECT_TRUE(again.sent.empty());
}

TEST_F(Sync, AnOwnMessageThatIsAnotherOneThereIsFound) {
  local_->put("a-contribution", "after the backup was restored");
  remote_->put("a-contribution", "before");
  remote_->put("news", "n");
  EXPECT_NO_THROW(synchronise(*local_, *remote_)) << "of others' messages nobody asks twice";
  expect_error(ExitCode::kProtocol,
               {"0 messages were fetched and 0 sent", "a-contribution", "is there already"}, [&] {
                 synchronise(*local_, *remote_, {"a-contribution", "never-made"});
               });
  EXPECT_EQ(local_->get("news", 10), "n");
  EXPECT_EQ(remote_->get("a-contribution", 100), "before");
}

/// Takes nothing of one name.
class Picky final : public Exchange {
 public:
  explicit Picky(Exchange& inner) : inner_(inner) {}
  void put(const std::string& name, std::string_view bytes) override {
    if (name == "b") throw ProtocolError("'b' is refused.");
    inner_.put(name, bytes);
  }
  Names list() override { return inner_.list(); }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    return inner_.get(name, most);
  }

 private:
  Exchange& inner_;
};

TEST_F(Sync, OneRefusedMessageDoesNotStopTheOthers) {
  for (const char* name : {"a", "b", "c"}) local_->put(name, name);
  Picky remote(*remote_);
  expect_error(ExitCode::kProtocol, {"2 sent; 1 were not taken: 'b' is refused."},
               [&] { synchronise(*local_, remote); });
  EXPECT_EQ(remote_->list(), (Names{"a", "c"}));
}

TEST_F(Sync, WhatIsTooLargeForAnyKnownRoundIsNotFetched) {
  std::ofstream(scratch_ / "remote" / "0123456789abcdef-contribution-0123456789abcdef.mfm");
  fs::resize_file(scratch_ / "remote" / "0123456789abcdef-contribution-0123456789abcdef.mfm", (1u << 26) + 1);
  remote_->put("small", "s");
  expect_error(ExitCode::kProtocol, {"1 messages were fetched", "67108864 at most"},
               [&] { synchronise(*local_, *remote_); });
  EXPECT_EQ(local_->list(), Names{"small"});
}

TEST_F(Sync, APartyWorksInAFolderOfItsOwnWhereTheExchangeIsFarAway) {
  EXPECT_EQ(working_exchange(scratch_.path(), "/mnt/share"), "/mnt/share");
  const std::string here = working_exchange(scratch_.path(), "https://round.example.org/x");
  EXPECT_EQ(here, (scratch_ / "exchange").string());
  EXPECT_TRUE(fs::is_directory(here));
}

}  // namespace
}  // namespace muffle::round
