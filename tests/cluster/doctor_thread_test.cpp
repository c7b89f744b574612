#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cluster/facts.hpp"
#include "muffle/cluster/doctor.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"

namespace muffle::cluster {
namespace {

TEST(DoctorRun, LooksAtRealRanksAndLeavesNothing) {
  for (const int ranks : {1, 3}) {
    const test::TemporaryFolder folder;
    std::mutex mutex;
    std::string printed;
    std::vector<ExitCode> codes;
    test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      std::ostringstream out;
      const ExitCode code = doctor(comm, {folder.path().string(), "json", 20}, out);
      const std::scoped_lock lock(mutex);
      codes.push_back(code);
      printed += out.str();
    });
    EXPECT_EQ(codes, std::vector<ExitCode>(static_cast<std::size_t>(ranks), ExitCode::kDone));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    const auto report = nlohmann::json::parse(printed);  // one report: rank 0's
    EXPECT_EQ(report["format"], "muffle-doctor");
    EXPECT_EQ(report["exit_code"], 0);
    ASSERT_EQ(report["ranks"].size(), static_cast<std::size_t>(ranks));
    for (const auto& rank : report["ranks"]) {
      const auto& seen = rank["folder"];
      EXPECT_EQ(seen["error"], "");
      for (const char* what : {"renames", "exclusive", "syncs_file", "locks", "sees_root", "respects_lock"})
        EXPECT_EQ(seen[what], true) << what;
      EXPECT_TRUE(rank["entropy"]);
      EXPECT_GT(rank["memory_bytes"], 0);
      EXPECT_FALSE(rank["cores"].empty());
      EXPECT_LE(rank["clock_minus_rank_0"][0], rank["clock_minus_rank_0"][1]);
      EXPECT_EQ(rank["binary"].get<std::string>().size(), 64u);
      EXPECT_EQ(rank["libtorch"], "") << "this program loads none (app's test does)";
    }
  }
}

TEST(DoctorRun, EveryRankLearnsOfAFolderThatOneCannotUse) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "not a folder";
  const std::string blocked = (folder.path() / "file" / "below").string();
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    std::ostringstream out;
    const std::string where = comm.rank() == 2 ? blocked : folder.path().string();
    EXPECT_EQ(doctor(comm, {where, "text", 4}, out), ExitCode::kIo);
    EXPECT_EQ(out.str().empty(), !comm.is_root());
    if (comm.is_root()) {
      EXPECT_THAT(out.str(), ::testing::ContainsRegex("failure *folder .*rank 2"));
    }
  });
}

TEST(DoctorRun, FoldersThatAreNotSharedAreSeen) {
  const test::TemporaryFolder mine, theirs;
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    const FolderFacts facts = folder_facts(comm, comm.is_root() ? mine.path() : theirs.path(), 0.2);
    EXPECT_EQ(facts.error, "");
    EXPECT_EQ(facts.sees_root, comm.is_root());
  });
}

TEST(DoctorFacts, ALoadedLibraryHasTheNameOfItsFileAndItsBuild) {
  EXPECT_THAT(loaded_library("libc.so"), ::testing::MatchesRegex("libc[-.0-9a-z]*so[.0-9]* [0-9a-f]+"));
  EXPECT_EQ(loaded_library("libnosuch.so"), "");
}

TEST(DoctorFacts, TravelAsJson) {
  RankFacts f;
  f.rank = 3;
  f.host = "h\xff";  // a host name is bytes
  f.libtorch = "libtorch_cpu.so.1.13 e20b0b9d69c3";
  f.nccl = "2.28.9";
  f.cores = {1, 2};
  f.folder.error = "why";
  const RankFacts back = facts_from_json(facts_to_json(f));
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.cores, f.cores);
  EXPECT_EQ(back.libtorch, f.libtorch);
  EXPECT_EQ(back.nccl, f.nccl);
  EXPECT_EQ(back.folder.error, "why");
  EXPECT_EQ(facts_from_json("{\"rank\": 2}").rank, 2) << "an older version knows fewer facts";
  EXPECT_THROW(facts_from_json("not JSON"), ProtocolError);
  EXPECT_THROW(facts_from_json("{\"rank\": \"two\"}"), ProtocolError);
}

}  // namespace
}  // namespace muffle::cluster
