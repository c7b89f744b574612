#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <concepts>
#include <mutex>
#include <optional>
#include <type_traits>

#include "secure_sum_cases.hpp"
#include "spy_comm.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::comm {
namespace {

using test::contribution;
using test::expect_error;
using test::run_thread_ranks;
using test::SpyComm;
using Vector = std::vector<std::uint64_t>;

// The gathers of one constructor, agreements included; and where a greeting holds the fresh public key.
constexpr int kGreetings = 1, kSignatures = 3, kGathersPerRound = 5;
constexpr std::size_t kKeyAt = 120, kGreetingBytes = 152;

/// A key for each rank, the roster of all, and each rank's identity.
class Sites {
 public:
  explicit Sites(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      keys_.push_back(SiteKey::generate("site" + std::to_string(r)));
      lines_ += line(r, keys_.back());
    }
  }
  static std::string line(int rank, const SiteKey& key) {
    return std::to_string(rank) + " " + key.name() + " " + to_hex(key.public_key()) + "\n";
  }
  const std::string& roster_text() const { return lines_; }
  SiteIdentity identity(int rank) {
    return {std::move(keys_.at(static_cast<std::size_t>(rank))), SiteRoster::parse(lines_, "roster")};
  }

 private:
  std::vector<SiteKey> keys_;
  std::string lines_;
};

/// Runs a signed key exchange on `ranks` ranks, each meddled with by `meddle`, and expects this error on
/// every rank. The ranks that are not `first_to_know` may word it differently.
template <class Meddle>
void expect_exchange_fails(int ranks, ExitCode code, std::initializer_list<std::string> parts, bool is_signed,
                           const Meddle& meddle) {
  Sites sites(ranks);
  std::mutex keys;
  std::atomic<int> failed = 0;
  run_thread_ranks(ranks, [&](HostComm& inner) {
    std::optional<SiteIdentity> identity;
    if (is_signed) {
      const std::lock_guard lock(keys);
      identity.emplace(sites.identity(inner.rank()));
    }
    SpyComm comm(inner);
    meddle(comm, identity);
    expect_error(code, parts, [&] { SecureSum(comm, {3, "c", identity ? &*identity : nullptr}); });
    EXPECT_TRUE(comm.reduced.empty());
    ++failed;
  });
  EXPECT_EQ(failed, ranks);
}

TEST(SecureSumTest, SameBitsAsThePlainSum) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_thread_ranks(ranks, [&](HostComm& comm) {
      for (const std::size_t n : test::kLengths) test::expect_same_as_plain(comm, n, false);
      for (const std::size_t n : test::kLengths) test::expect_same_as_plain(comm, n, true);
    });
  }
}

TEST(SecureSumTest, SameBitsWithSignedKeys) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    Sites sites(ranks);
    std::mutex keys;
    run_thread_ranks(ranks, [&](HostComm& comm) {
      std::optional<SiteIdentity> identity;
      {
        const std::lock_guard lock(keys);
        identity.emplace(sites.identity(comm.rank()));
      }
      test::expect_same_as_plain(comm, 1000, false, &*identity);
      test::expect_same_as_plain(comm, 1000, true, &*identity);
    });
  }
}

TEST(SecureSumTest, OneRankNeedsNoMasks) {
  run_thread_ranks(1, [](HostComm& inner) {
    SpyComm comm(inner);
    std::ignore = SecureSum(comm, {10, "c", nullptr}).reduce_to_root(contribution(0, 10));
    EXPECT_EQ(comm.reduced, std::vector<Vector>{contribution(0, 10)});
  });
}

TEST(SecureSumTest, TheSummandIsWipedEvenIfTheRoundFails) {
  for (const int ranks : {1, 3}) {
    run_thread_ranks(ranks, [](HostComm& comm) {
      Vector mine = contribution(comm.rank(), 10);
      std::ignore = SecureSum(comm, {10, "c", nullptr}).reduce_to_root(std::move(mine));
      EXPECT_EQ(mine, Vector(10, 0));  // NOLINT(bugprone-use-after-move): zeroed, as promised
    });
  }
  Vector mine = contribution(0, 10);
  EXPECT_THROW(run_thread_ranks(2,
                                [&mine](HostComm& comm) {
                                  SecureSum sum(comm, {10, "c", nullptr});
                                  if (comm.rank() == 0)
                                    std::ignore = std::move(sum).reduce_to_root(std::move(mine));
                                }),
               CommError);
  EXPECT_EQ(mine, Vector(10, 0));  // NOLINT(bugprone-use-after-move)
}

// Whoever sees the vectors of some ranks, or their sum, sees neither their vectors nor the sum of these: the
// masks shared with the ranks outside cover each number. Only all ranks together are bare. (A number is
// covered with itself with probability 2^-64.)
TEST(SecureSumTest, EverySumOfSomeRanksButNotAllIsCovered) {
  constexpr int kRanks = 4;
  constexpr std::size_t kLength = 100;
  std::array<Vector, kRanks> masked;
  run_thread_ranks(kRanks, [&](HostComm& inner) {
    SpyComm comm(inner);
    std::ignore = SecureSum(comm, {kLength, "c", nullptr}).reduce_to_root(contribution(comm.rank(), kLength));
    ASSERT_EQ(comm.reduced.size(), 1u);
    masked[static_cast<std::size_t>(comm.rank())] = comm.reduced[0];
  });
  for (unsigned subset = 1; subset < 1u << kRanks; ++subset) {
    for (std::size_t i = 0; i < kLength; ++i) {
      std::uint64_t seen = 0, hidden = 0;
      for (int r = 0; r < kRanks; ++r) {
        if ((subset >> r & 1) == 0) continue;
        seen += masked[static_cast<std::size_t>(r)][i];
        hidden += contribution(r, kLength)[i];
      }
      EXPECT_EQ(seen == hidden, subset == (1u << kRanks) - 1) << "ranks " << subset << ", number " << i;
    }
  }
}

TEST(SecureSumTest, TheSameInputIsMaskedAnewEachTime) {
  run_thread_ranks(3, [](HostComm& inner) {
    SpyComm comm(inner);
    std::string rounds;
    for (int i = 0; i < 2; ++i) {
      SecureSum sum(comm, {500, "c", nullptr});
      EXPECT_EQ(sum.round().size(), 16u);
      EXPECT_EQ(rounds.find(sum.round()), std::string::npos) << "rounds have names of their own";
      rounds += sum.round() + " ";
      std::ignore = std::move(sum).reduce_to_root(contribution(comm.rank(), 500));
    }
    ASSERT_EQ(comm.reduced.size(), 2u);
    for (std::size_t i = 0; i < 500; ++i) EXPECT_NE(comm.reduced[0][i], comm.reduced[1][i]);
  });
}

template <class T>
concept UsableTwice = requires(T sum, Vector values) {
  sum.reduce_to_root(std::move(values));
};
template <class T>
concept UsableOnce = requires(T sum, Vector values) {
  std::move(sum).reduce_to_root(std::move(values));
};
template <class T>
concept CopiesItsInput = requires(T sum, Vector values) {
  std::move(sum).reduce_to_root(values);
};

TEST(SecureSumTest, IsSingleUseByType) {
  static_assert(UsableOnce<SecureSum> && !UsableTwice<SecureSum> && !CopiesItsInput<SecureSum>);
  static_assert(!std::is_copy_constructible_v<SecureSum> && !std::is_copy_assignable_v<SecureSum> &&
                !std::is_move_assignable_v<SecureSum>);
  run_thread_ranks(2, [](HostComm& inner) {
    SpyComm comm(inner);
    SecureSum sum(comm, {2, "c", nullptr});
    std::ignore = std::move(sum).reduce_to_root({1, 2});
    expect_error(ExitCode::kInvariant, {"twice"}, [&] { std::move(sum).reduce_to_root({1, 2}); });
    EXPECT_EQ(comm.reduced.size(), 1u) << "nothing went out the second time";
  });
}

TEST(SecureSumTest, AnotherLengthThanAgreedGoesNowhere) {
  run_thread_ranks(2, [](HostComm& inner) {
    SpyComm comm(inner);
    SecureSum sum(comm, {2, "c", nullptr});
    expect_error(ExitCode::kInvariant, {"2 numbers"}, [&] { std::move(sum).reduce_to_root({1, 2, 3}); });
    EXPECT_TRUE(comm.reduced.empty());
  });
}

TEST(SecureSumTest, ALostRankEndsTheRoundWithNothingRevealed) {
  constexpr std::size_t kLength = 64;
  std::array<Vector, 3> masked;
  std::atomic<int> ended = 0;
  run_thread_ranks(
      4,
      [&](HostComm& inner) {
        SpyComm comm(inner);
        SecureSum sum(comm, {kLength, "c", nullptr});
        if (comm.rank() == 3) return;  // lost after the keys were exchanged
        EXPECT_THROW(std::move(sum).reduce_to_root(contribution(comm.rank(), kLength)), CommError);
        ASSERT_EQ(comm.reduced.size(), 1u);
        masked[static_cast<std::size_t>(comm.rank())] = comm.reduced[0];
        ++ended;
      },
      std::chrono::seconds(5));
  ASSERT_EQ(ended, 3);
  // All that ever went out, added up, is still covered by the lost rank's masks.
  for (std::size_t i = 0; i < kLength; ++i) {
    std::uint64_t seen = 0, hidden = 0;
    for (int r = 0; r < 3; ++r) {
      seen += masked[static_cast<std::size_t>(r)][i];
      hidden += contribution(r, kLength)[i];
    }
    EXPECT_NE(seen, hidden);
  }
}

TEST(SecureSumTest, ARankThatNeverComesEndsTheRoundBeforeAnythingIsSent) {
  std::atomic<int> ended = 0;
  run_thread_ranks(
      3,
      [&](HostComm& inner) {
        if (inner.rank() == 1) return;
        SpyComm comm(inner);
        expect_error(ExitCode::kPeer, {"rank 1"}, [&] { SecureSum(comm, {4, "c", nullptr}); });
        EXPECT_TRUE(comm.reduced.empty());
        ++ended;
      },
      std::chrono::seconds(5));
  EXPECT_EQ(ended, 2);
}

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
  std::mutex keys;
  run_thread_ranks(2, [&](HostComm& inner) {
    std::optional<SiteIdentity> identity;
    {
      const std::lock_guard lock(keys);
      identity.emplace(sites.identity(inner.rank()));
    }
    SpyComm comm(inner);
    std::string recorded;
    if (comm.rank() == 1) {
      comm.on_send = [&](int which, std::string bytes) {
        if (which == kSignatures) recorded = bytes;
        return which == kGathersPerRound + kSignatures ? recorded : bytes;
      };
    }
    EXPECT_NO_THROW(SecureSum(comm, {3, "c", &*identity}));
    expect_error(ExitCode::kProtocol, {"rank 1 (site 'site1'", "is wrong"}, [&] {
      SecureSum(comm, {3, "c", &*identity});
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
                          if (comm.rank() == 1) identity->key = SiteKey::generate("site1");
                        });
}

TEST(SecureSumSignatureTest, ARosterOfOnesOwnIsFoundOut) {
  const SiteKey honest = SiteKey::generate("site0");
  expect_exchange_fails(
      2, ExitCode::kProtocol, {"site roster differs"}, true, [&](SpyComm& comm, auto& identity) {
        if (comm.rank() != 1) return;
        identity->roster =
            SiteRoster::parse(Sites::line(0, honest) + Sites::line(1, identity->key), "forged");
      });
}

TEST(SecureSumSignatureTest, ARosterOfAnotherSizeIsRefused) {
  expect_exchange_fails(2, ExitCode::kConfig, {"lists 1 ranks, but 2"}, true, [&](SpyComm&, auto& identity) {
    identity->roster = SiteRoster::parse(Sites::line(0, SiteKey::generate("site0")), "short");
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
    std::mutex keys;
    run_thread_ranks(3, [&](HostComm& inner) {
      std::optional<SiteIdentity> identity;
      if (is_signed) {
        const std::lock_guard lock(keys);
        identity.emplace(sites.identity(inner.rank()));
      }
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
    run_thread_ranks(3, [&](HostComm& comm) {
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
  run_thread_ranks(1, [](HostComm& comm) {
    expect_error(ExitCode::kInvariant, {"too long"}, [&] {
      SecureSum(comm, {kMaxSecureSumLength + 1, "c", nullptr});
    });
  });
}

}  // namespace
}  // namespace muffle::comm
