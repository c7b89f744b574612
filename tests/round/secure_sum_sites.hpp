#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muffle/round/secure_sum.hpp"
#include "comm/spy_comm.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

// Sites with keys, and key exchanges that somebody meddles with.
namespace muffle::test {

// The gathers of one constructor, agreements included; and where a greeting holds the fresh public key.
inline constexpr int kGreetings = 1, kSignatures = 3, kGathersPerRound = 5;
inline constexpr std::size_t kKeyAt = 120, kGreetingBytes = 152;

/// A key for each rank, the roster of all, and each rank's identity.
class Sites {
 public:
  explicit Sites(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      keys_.push_back(crypto::SiteKey::generate("site" + std::to_string(r)));
      lines_ += line(r, keys_.back());
    }
  }
  static std::string line(int rank, const crypto::SiteKey& key) {
    return std::to_string(rank) + " " + key.name() + " " + crypto::to_hex(key.public_key()) + "\n";
  }
  /// Once for each rank, from any thread.
  crypto::SiteIdentity identity(int rank) {
    const std::lock_guard lock(mutex_);
    return {std::move(keys_.at(static_cast<std::size_t>(rank))), crypto::SiteRoster::parse(lines_, "roster")};
  }

 private:
  std::mutex mutex_;
  std::vector<crypto::SiteKey> keys_;
  std::string lines_;
};

/// Runs a key exchange on `ranks` ranks, each meddled with by `meddle`, and expects this error on every rank.
template <class Meddle>
void expect_exchange_fails(int ranks, ExitCode code, std::initializer_list<std::string> parts, bool is_signed,
                           const Meddle& meddle) {
  Sites sites(ranks);
  std::atomic<int> failed = 0;
  run_thread_ranks(ranks, [&](comm::HostComm& inner) {
    std::optional<crypto::SiteIdentity> identity;
    if (is_signed) identity.emplace(sites.identity(inner.rank()));
    SpyComm comm(inner);
    meddle(comm, identity);
    expect_error(code, parts, [&] { round::SecureSum(comm, {3, "c", identity ? &*identity : nullptr}); });
    EXPECT_TRUE(comm.reduced.empty());
    ++failed;
  });
  EXPECT_EQ(failed, ranks);
}

}  // namespace muffle::test
