#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "muffle/app/config.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/rff.hpp"
#include "support/thread_comm.hpp"

namespace muffle::app {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(ConfigAgreementTest, EqualConfigurationsPass) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    test::run_thread_ranks(
        ranks, [](comm::HostComm& comm) { comm::require_same_settings(comm, flatten(Config{})); }, 2min);
  }
}

TEST(ConfigAgreementTest, EveryRankNamesTheKeyThatDiffers) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    for (int odd_one = 0; odd_one < ranks; ++odd_one) {
      std::atomic<int> told = 0;
      test::run_thread_ranks(
          ranks,
          [&](comm::HostComm& comm) {
            Config config;
            config.features.maps["rff"].map =
                features::make_rff_map({.seed = comm.rank() == odd_one ? 99u : 1u});
            try {
              comm::require_same_settings(comm, flatten(config));
            } catch (const ConfigError& e) {
              EXPECT_THAT(e.what(), HasSubstr("map.rff.seed is"));
              EXPECT_THAT(e.what(), HasSubstr("99 on rank " + std::to_string(odd_one == 0 ? 0 : odd_one)));
              EXPECT_TRUE(e.agreed());
              EXPECT_EQ(e.quiet(), comm.rank() != 0) << "rank 0 speaks for all";
              ++told;
            }
          },
          2min);
      EXPECT_EQ(told, ranks);
    }
  }
}

/// Hears all that a rank is sent.
class Overheard final : public comm::Messages {
 public:
  explicit Overheard(comm::Messages& comm) : comm_(comm) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  int local_size() const override { return comm_.local_size(); }
  int local_rank() const override { return comm_.local_rank(); }
  std::string host() const override { return comm_.host(); }
  void barrier() override { comm_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override { comm_.broadcast(bytes, root); }
  std::vector<std::string> all_gather(const std::string& bytes) override {
    std::vector<std::string> all = comm_.all_gather(bytes);
    for (const std::string& text : all) heard += text;
    return all;
  }
  std::vector<std::string> gather(const std::string& bytes, int root) override {
    return comm_.gather(bytes, root);
  }

  std::string heard;

 private:
  comm::Messages& comm_;
};

TEST(ConfigAgreementTest, WhatAllHaveAlikeDoesNotTravel) {
  test::run_thread_ranks(
      3,
      [&](comm::HostComm& comm) {
        Overheard messages(comm);
        EXPECT_THROW(
            comm::require_same_settings(messages, {{"data.dir", "'/home/alice/records'"},
                                                   {"train.seed", comm.rank() == 2 ? "seven" : "eight"}}),
            ConfigError);
        EXPECT_THAT(messages.heard, HasSubstr("seven"));
        EXPECT_THAT(messages.heard, ::testing::Not(HasSubstr("alice")));
        EXPECT_THAT(messages.heard, ::testing::Not(HasSubstr(comm.host())));
      },
      2min);
}

TEST(ConfigAgreementTest, WhereARanksOwnFilesLieIsToldToNobodyElse) {
  std::atomic<int> told = 0;
  test::run_thread_ranks(
      3,
      [&](comm::HostComm& comm) {
        Overheard messages(comm);
        const std::string mine = comm.rank() == 2 ? "'/home/bob/records'" : "'/home/alice/records'";
        try {
          comm::require_same_settings(messages, {{"data.dir", mine}, {"train.seed", "1"}}, names_own_files);
        } catch (const ConfigError& e) {
          EXPECT_THAT(e.what(), HasSubstr("data.dir is not the same on ranks 0 and 2"));
          EXPECT_THAT(e.what(), HasSubstr(mine)) << "its own";
          EXPECT_THAT(e.what(), ::testing::Not(HasSubstr(comm.rank() == 2 ? "alice" : "bob")));
          ++told;
        }
        EXPECT_THAT(messages.heard, ::testing::Not(HasSubstr("alice")));
        EXPECT_THAT(messages.heard, ::testing::Not(HasSubstr("bob")));
      },
      2min);
  EXPECT_EQ(told, 3);
}

TEST(ConfigAgreementTest, WhatIsTypedBesideTheSettingsMustBeTheSameToo) {
  std::atomic<int> told = 0;
  test::run_thread_ranks(
      3,
      [&](comm::HostComm& comm) {
        std::map<std::string, std::string> typed{{"--out", "'a'"}, {"the verb", "train"}};
        if (comm.rank() == 1) typed["--out"] = "'b'";
        if (comm.rank() == 2) typed["the verb"] = "release";
        if (comm.rank() == 2) typed["--dry-run"] = "given";
        try {
          comm::require_same_settings(comm, typed);
        } catch (const ConfigError& e) {
          EXPECT_THAT(e.what(), HasSubstr("--out is 'a' on rank 0 and 'b' on rank 1"));
          EXPECT_THAT(e.what(), HasSubstr("the verb is train on rank 0 and release on rank 2"));
          EXPECT_THAT(e.what(), HasSubstr("--dry-run is not there on rank 0 and given on rank 2"));
          ++told;
        }
      },
      2min);
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace muffle::app
