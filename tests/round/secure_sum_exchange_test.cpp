// The key exchange before a secure sum: whoever meddles with it, or is not who the roster says, ends it on
// all ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "muffle/round/secure_sum.hpp"
#include "secure_sum_sites.hpp"
#include "comm/spy_comm.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::round {
namespace {

using test::expect_error;
using test::expect_exchange_fails;
using test::kGreetingBytes;
using test::kGreetings;
using test::kKeyAt;
using test::kSignatures;
using test::run_thread_ranks;
using test::Sites;
using test::SpyComm;

TEST(SecureSumSignatureTest, AWrongSignatureEndsAllRanks) {
  for (int liar = 0; liar < 3; ++liar) {
    const std::string name = "rank " + std::to_string(liar) + " (site 'site" + std::to_string(liar);
    expect_exchange_fails(3, ExitCode::kProtocol, {name, "is wrong"}, true, [&](SpyComm& comm, auto&) {
      if (comm.rank() != liar) return;
      comm.on_send = [](int which, std::string bytes) {
        if (which == kSignatures) bytes.at(5) = static_cast<char>(bytes.at(5) ^ 1);
        return bytes;
      };
    });
  }
}

TEST(SecureSumSignatureTest, AMissingSignatureEndsAllRanks) {
  for (const std::size_t length : {0, 63}) {
    expect_exchange_fails(2, ExitCode::kProtocol, {"rank 1 (site 'site1'", "is missing"}, true,
                          [&](SpyComm& comm, auto&) {
                            if (comm.rank() != 1) return;
                            comm.on_send = [=](int which, std::string bytes) {
                              return which == kSignatures ? bytes.substr(0, length) : bytes;
                            };
                          });
  }
}

TEST(SecureSumSignatureTest, ASignatureOfAnEarlierRoundIsRefused) {
  Sites sites(2);
  run_thread_ranks(2, [&](comm::HostComm& inner) {
    const crypto::SiteIdentity identity = sites.identity(inner.rank());
    SpyComm comm(inner);
    std::string recorded;
    if (comm.rank() == 1) {
      comm.on_send = [&](int which, std::string bytes) {
        if (which == kSignatures) recorded = bytes;
        return which == test::kGathersPerRound + kSignatures ? recorded : bytes;
      };
    }
    EXPECT_NO_THROW(SecureSum(comm, {3, "c", &identity}));
    expect_error(ExitCode::kProtocol, {"rank 1 (site 'site1'", "is wrong"}, [&] {
      SecureSum(comm, {3, "c", &identity});
    });
  });
}

// Somebody in the middle shows one rank another key than the sender's, to share a mask with it.
TEST(SecureSumSignatureTest, AKeyExchangedInTheMiddleIsFoundOut) {
  for (int victim : {0, 2}) {
    expect_exchange_fails(3, ExitCode::kProtocol, {"signature of rank", "is wrong"}, true,
                          [&](SpyComm& comm, auto&) {
                            if (comm.rank() != victim) return;
                            comm.on_receive = [](int which, std::vector<std::string>& all) {
                              if (which == kGreetings) all.at(1).replace(kKeyAt, 32, 32, '\x42');
                            };
                          });
  }
}

// The same, but shown to everybody, the sender included: it must not sign the foreign key as its own.
TEST(SecureSumSignatureTest, ARankNoticesThatItsOwnKeyWasChanged) {
  for (const bool is_signed : {false, true}) {
    expect_exchange_fails(3, ExitCode::kProtocol, {"rank 1's own key came back changed"}, is_signed,
                          [](SpyComm& comm, auto&) {
                            if (comm.rank() != 1) return;
                            comm.on_send = [](int which, std::string bytes) {
                              return which == kGreetings ? bytes.replace(kKeyAt, 32, 32, '\x42') : bytes;
                            };
                          });
  }
}

TEST(SecureSumSignatureTest, AKeyThatIsNotTheRostersIsRefused) {
  expect_exchange_fails(2, ExitCode::kConfig, {"rank 1 belongs to site 'site1'", "privacy.site_key"}, true,
                        [](SpyComm& comm, auto& identity) {
                          if (comm.rank() == 1) identity->key = crypto::SiteKey::generate("site1");
                        });
}

TEST(SecureSumSignatureTest, ARosterOfOnesOwnIsFoundOut) {
  const crypto::SiteKey honest = crypto::SiteKey::generate("site0");
  expect_exchange_fails(
      2, ExitCode::kProtocol, {"site roster differs"}, true, [&](SpyComm& comm, auto& identity) {
        if (comm.rank() != 1) return;
        identity->roster =
            crypto::SiteRoster::parse(Sites::line(0, honest) + Sites::line(1, identity->key), "forged");
      });
}

TEST(SecureSumSignatureTest, ARosterOfAnotherSizeIsRefused) {
  expect_exchange_fails(2, ExitCode::kConfig, {"lists 1 ranks, but 2"}, true, [&](SpyComm&, auto& identity) {
    identity->roster = crypto::SiteRoster::parse(Sites::line(0, crypto::SiteKey::generate("site0")), "short");
  });
}

TEST(SecureSumSignatureTest, SignedAndUnsignedRanksDoNotMix) {
  expect_exchange_fails(3, ExitCode::kProtocol, {"site roster differs, or only one of them has one"}, true,
                        [&](SpyComm& comm, auto& identity) {
                          if (comm.rank() == 2) identity.reset();
                        });
}

TEST(SecureSumProtocolTest, PointsOfSmallOrderAreRefused) {
  expect_exchange_fails(3, ExitCode::kProtocol, {"rank 1 sent an invalid key"}, false,
                        [](SpyComm& comm, auto&) {
                          if (comm.rank() != 0) return;
                          comm.on_receive = [](int which, std::vector<std::string>& all) {
                            if (which == kGreetings) all.at(1).replace(kKeyAt, 32, 32, '\0');
                          };
                        });
}

// Whoever changes messages can also hide from a rank that the agreement failed, its own complaint included.
// The rank goes on, but it has no keys, and sends nothing.
TEST(SecureSumProtocolTest, ARankWhoseComplaintIsSuppressedSendsNothing) {
  const auto refuse = [](bool is_signed, const auto& change_greetings) {
    Sites sites(3);
    run_thread_ranks(3, [&](comm::HostComm& inner) {
      std::optional<crypto::SiteIdentity> identity;
      if (is_signed) identity.emplace(sites.identity(inner.rank()));
      SpyComm comm(inner);
      comm.on_receive = [&](int which, std::vector<std::string>& all) {
        if (which == kGreetings) {
          if (comm.rank() == 0) change_greetings(all);
        } else if (which != kSignatures) {
          for (std::string& verdict : all) verdict.clear();
        }
      };
      SecureSum sum(comm, {3, "c", identity ? &*identity : nullptr});
      if (comm.rank() != 0) return;
      expect_error(ExitCode::kInvariant, {"without its keys"}, [&] {
        std::move(sum).reduce_to_root({1, 2, 3});
      });
      EXPECT_TRUE(comm.reduced.empty());
    });
  };
  const auto small_order = [](std::vector<std::string>& all) { all.at(1).replace(kKeyAt, 32, 32, '\0'); };
  const auto foreign_key = [](std::vector<std::string>& all) { all.at(1).replace(kKeyAt, 32, 32, '\x42'); };
  const auto foreign_length = [](std::vector<std::string>& all) { all.at(2).at(16) ^= 1; };
  refuse(false, small_order);
  refuse(true, small_order);
  refuse(true, foreign_key);
  refuse(true, foreign_length);
}

TEST(SecureSumProtocolTest, EveryByteOfAGreetingCounts) {
  const auto says = [](std::size_t at, const std::string& what) {
    expect_exchange_fails(2, ExitCode::kProtocol, {what}, false, [&](SpyComm& comm, auto&) {
      if (comm.rank() != 0) return;
      comm.on_receive = [=](int which, std::vector<std::string>& all) {
        if (which != kGreetings) return;
        ASSERT_EQ(all.at(1).size(), kGreetingBytes);
        if (at == kGreetingBytes) {
          all.at(1).pop_back();
        } else {
          all.at(1).at(at) = static_cast<char>(all.at(1).at(at) ^ 4);
        }
      };
    });
  };
  says(0, "another version");
  says(7, "another version");
  says(8, "rank or number of ranks");
  says(12, "rank or number of ranks");
  says(16, "7 numbers instead of 3");
  says(24, "configuration's hash");
  says(56, "site roster differs");
  says(kGreetingBytes, "no greeting");
}

TEST(SecureSumProtocolTest, RanksThatWantDifferentThingsAreRefused) {
  const auto refuse = [](const SecureSumSpec& a, const SecureSumSpec& b, const std::string& what) {
    std::atomic<int> failed = 0;
    run_thread_ranks(3, [&](comm::HostComm& comm) {
      expect_error(ExitCode::kProtocol, {what, "Nothing was revealed"},
                   [&] { SecureSum(comm, comm.rank() == 2 ? b : a); });
      ++failed;
    });
    EXPECT_EQ(failed, 3);
  };
  refuse({3, "c", nullptr}, {4, "c", nullptr}, "numbers instead of");
  refuse({3, "c", nullptr}, {3, "d", nullptr}, "configuration's hash");
}

TEST(SecureSumProtocolTest, VectorsBeyondTheCounterAreRefused) {
  run_thread_ranks(1, [](comm::HostComm& comm) {
    expect_error(ExitCode::kInvariant, {"too long"}, [&] {
      SecureSum(comm, {kMaxSecureSumLength + 1, "c", nullptr});
    });
  });
}

}  // namespace
}  // namespace muffle::round
