// Some ranks work while the others wait, on every backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/host_comm_cases.hpp"
#include "muffle/comm/detachment.hpp"

namespace muffle::test {
namespace {

using comm::Detachment;
using comm::HostComm;
using testing::HasSubstr;

/// Every way for the ranks to be split in two, with at least one that works; the same on all ranks.
std::vector<std::vector<bool>> all_choices(int ranks) {
  std::vector<std::vector<bool>> out;
  for (int bits = 1; bits < (1 << ranks); ++bits) {
    auto& works = out.emplace_back();
    for (int r = 0; r < ranks; ++r) works.push_back((bits >> r & 1) != 0);
  }
  return out;
}

void split_ranks_have_a_communicator_of_their_own(HostComm& all) {
  for (const auto& members : all_choices(all.size())) {
    const bool mine = members[static_cast<std::size_t>(all.rank())];
    const auto part = all.split(mine);
    ASSERT_EQ(part != nullptr, mine);
    const auto before = std::count(members.begin(), members.begin() + all.rank(), true);
    if (mine) {
      EXPECT_EQ(part->rank(), before);
      EXPECT_EQ(part->size(), std::count(members.begin(), members.end(), true));
      std::int64_t most = all.rank();
      part->all_reduce_max(std::span(&most, 1));
      EXPECT_EQ(most, members.rend() - std::find(members.rbegin(), members.rend(), true) - 1);
      EXPECT_EQ(part->all_gather(std::to_string(all.rank()))[static_cast<std::size_t>(before)],
                std::to_string(all.rank()));
    }
    all.barrier();
  }
}

void detached_ranks_work_while_the_others_wait(HostComm& all) {
  for (const auto& works : all_choices(all.size())) {
    Detachment detachment(all, works);
    EXPECT_EQ(detachment.works(), static_cast<bool>(works[static_cast<std::size_t>(all.rank())]));
    EXPECT_EQ(detachment.first(), std::find(works.begin(), works.end(), true) - works.begin());
    int steps = 0;
    detachment.run("working", [&](HostComm& mine, const Detachment::Heartbeat& heartbeat) {
      for (; steps < 200; ++steps) {
        std::int64_t most = steps;
        mine.all_reduce_max(std::span(&most, 1));
        EXPECT_FALSE(heartbeat());
      }
    });
    EXPECT_EQ(steps, detachment.works() ? 200 : 0);
    all.barrier();
  }
}

/// What a detachment that fails in step 3 throws on this rank.
std::pair<ExitCode, std::string> thrown_by(HostComm& all, const std::vector<bool>& works) {
  try {
    Detachment(all, works).run("training", [&](HostComm& mine, const Detachment::Heartbeat& heartbeat) {
      for (int i = 0; i < 3; ++i) heartbeat();
      comm::agree(mine, "step 3", true, [&] {
        if (mine.rank() == mine.size() - 1) throw IoError("the disk is full");
      });
    });
  } catch (const Error& e) {
    EXPECT_TRUE(e.agreed());
    return {e.code(), e.what()};
  }
  return {ExitCode::kDone, ""};
}

void an_agreed_error_of_the_work_ends_all_ranks_alike(HostComm& all) {
  for (const auto& works : all_choices(all.size())) {
    const auto [code, message] = thrown_by(all, works);
    EXPECT_EQ(code, ExitCode::kIo);
    EXPECT_THAT(message, HasSubstr("the disk is full"));
  }
}

void a_detachment_needs_a_rank(HostComm& all) {
  const std::vector<bool> nobody(static_cast<std::size_t>(all.size()), false);
  EXPECT_THROW(Detachment(all, nobody), InvariantError);
}

}  // namespace

const std::vector<HostCommCase>& detachment_cases() {
#define MUFFLE_CASE(body) \
  { #body, body }
  static const std::vector<HostCommCase> cases{
      MUFFLE_CASE(split_ranks_have_a_communicator_of_their_own),
      MUFFLE_CASE(detached_ranks_work_while_the_others_wait),
      MUFFLE_CASE(an_agreed_error_of_the_work_ends_all_ranks_alike),
      MUFFLE_CASE(a_detachment_needs_a_rank),
  };
#undef MUFFLE_CASE
  return cases;
}

}  // namespace muffle::test
