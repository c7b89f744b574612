#include "muffle/release/journal.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {
namespace {

using Kind = JournalEntry::Kind;
using test::expect_error;

class JournalTest : public testing::Test {
 protected:
  static crypto::ExchangePoint point(unsigned char b) {
    crypto::ExchangePoint out{};
    out[0] = b;
    return out;
  }
  static JournalEntry seal(unsigned char key, unsigned char message) {
    return {Kind::kSeal, {1}, point(key), MessageKind::kSeal, {message}};
  }
  static JournalEntry opening(unsigned char key, unsigned char message) {
    return {Kind::kPending, {1}, point(key), MessageKind::kOpening, {message}};
  }
  Journal open() const { return {file_, party_, std::chrono::milliseconds(1000)}; }

  const test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "journal.mfj";
  const crypto::SitePublicKey party_{7};
};

TEST_F(JournalTest, KeepsWhatAPartyHasBoundItselfTo) {
  { open().add(seal(1, 11)); }
  {
    Journal journal = open();
    EXPECT_EQ(journal.state().seal_of(point(1)), Sha256Digest{11});
    EXPECT_EQ(journal.state().seal_of(point(2)), std::nullopt);
    journal.add(opening(1, 12));
    journal.add({Kind::kErased, {1}, point(1), MessageKind::kSeal, {}});
  }
  const Journal journal = open();
  EXPECT_EQ(journal.state().entries.size(), 3u);
  EXPECT_EQ(journal.state().pending({1}, MessageKind::kOpening), Sha256Digest{12});
  EXPECT_EQ(journal.state().pending({2}, MessageKind::kOpening), std::nullopt);
  EXPECT_TRUE(journal.state().erased(point(1)));
  EXPECT_FALSE(journal.state().erased(point(2)));
}

TEST_F(JournalTest, NothingIsSaidTwice) {
  Journal journal = open();
  const auto bug = [&](const JournalEntry& entry) {
    expect_error(ExitCode::kInvariant, {"two messages"}, [&] { journal.add(entry); });
  };
  bug(opening(1, 12));  // without its seal
  bug(seal(0, 11));     // without a key
  journal.add(seal(1, 11));
  bug(seal(1, 11));
  bug(seal(1, 99));
  journal.add(opening(1, 12));
  bug(opening(1, 13));
  const JournalEntry stand_in{Kind::kPending, {1}, {}, MessageKind::kStandIn, {14}};
  journal.add(stand_in);
  bug({Kind::kPending, {1}, {}, MessageKind::kStandIn, {15}});
  bug({Kind::kPending, {2}, {}, MessageKind::kStandIn, {14}});  // without an opening of its own
  EXPECT_EQ(journal.state().entries.size(), 3u);
}

/// Where a round has ended, nobody stands in for anybody any more.
TEST_F(JournalTest, NobodyStandsInAfterTheEndOfARound) {
  Journal journal = open();
  const auto pending = [](unsigned char round, MessageKind what, unsigned char message) {
    return JournalEntry{Kind::kPending, {round}, {}, what, {message}};
  };
  const auto bug = [&](const JournalEntry& entry) {
    expect_error(ExitCode::kInvariant, {"two messages"}, [&] { journal.add(entry); });
  };
  journal.add(seal(1, 11));
  journal.add(opening(1, 12));
  journal.add(pending(1, MessageKind::kReceipt, 13));
  bug(pending(1, MessageKind::kStandIn, 14));
  journal.add(pending(2, MessageKind::kAbandonment, 21));
  bug(pending(2, MessageKind::kStandInRequest, 22));
  bug(pending(2, MessageKind::kSeal, 23));
  journal.add(pending(3, MessageKind::kStandInRequest, 31));  // a round may be given up after that
  journal.add(pending(3, MessageKind::kAbandonment, 32));
  bug(pending(3, MessageKind::kRelease, 33));
  EXPECT_EQ(journal.state().entries.size(), 6u);
}

TEST_F(JournalTest, TamperingAndRollbacksOfALineShow) {
  {
    Journal journal = open();
    journal.add(seal(1, 11));
    journal.add(opening(1, 12));
  }
  const std::string good = read_file(file_);
  const auto refused = [&](const std::string& bytes, const char* part) {
    write_file_atomically(file_, bytes);
    expect_error(ExitCode::kProtocol, {"journal.mfj", "damaged", part}, [&] { open(); });
  };
  std::string bad = good;
  bad[bad.find("\"message\":\"0b") + 12] = 'c';
  refused(bad, "line 2");
  const std::size_t second = good.find('\n') + 1, third = good.find('\n', second) + 1;
  refused(good.substr(0, second) + good.substr(third), "line 2");
  refused(good.substr(second), "line 1");
  refused("", "line 1");
  write_file_atomically(file_, good);
  EXPECT_EQ(open().state().entries.size(), 2u);
  expect_error(ExitCode::kProtocol, {"another party"},
               [&] { Journal(file_, crypto::SitePublicKey{8}, std::chrono::milliseconds(1000)); });
}

TEST_F(JournalTest, ATornLineIsCutOffAndSaysSo) {
  { open().add(seal(1, 11)); }
  const std::string whole = read_file(file_);
  { open().add(opening(1, 12)); }
  write_file_atomically(file_, read_file(file_).substr(0, whole.size() + 50));
  {
    Journal journal = open();
    EXPECT_EQ(journal.state().pending({1}, MessageKind::kOpening), std::nullopt);
    EXPECT_NE(read_file(file_).find("REPAIR"), std::string::npos);
    journal.add(opening(1, 13));
  }
  EXPECT_EQ(open().state().pending({1}, MessageKind::kOpening), Sha256Digest{13});
}

TEST_F(JournalTest, OnePartyHasItAtATime) {
  const Journal first = open();
  expect_error(ExitCode::kPeer, {"The journal is in use", "take turns"},
               [&] { Journal(file_, party_, std::chrono::milliseconds(20)); });
}

}  // namespace
}  // namespace muffle::release
