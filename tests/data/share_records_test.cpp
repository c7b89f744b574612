// Whether held-out records are the release's own: content decides, not the spelling of a path.
#include <gtest/gtest.h>

#include <filesystem>

#include "muffle/core/files.hpp"
#include "muffle/data/source.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data {
namespace {

namespace fs = std::filesystem;

class ShareRecords : public ::testing::Test {
 protected:
  ShareRecords() {
    write_file_atomically(folder_ / "own", std::string(3'000'000, 'a') + "z");
    write_file_atomically(folder_ / "other", std::string(3'000'000, 'a') + "y");
  }

  DataSpec spec(const std::string& features, const std::string& format = "idx") const {
    DataSpec out;
    out.format = format;
    out.dir = folder_.path().string();
    out.features = features;
    return out;
  }
  bool shared(const std::string& one, const std::string& other, const std::string& format = "idx") const {
    return share_records(spec(one, format), spec(other, format), 1);
  }

  muffle::test::TemporaryFolder folder_;
};

TEST_F(ShareRecords, AFileUnderAnotherNameIsTheSame) {
  fs::create_symlink(folder_ / "own", folder_ / "link");
  fs::create_hard_link(folder_ / "own", folder_ / "hard link");
  for (const char* name : {"own", "./own", "link", "hard link"}) EXPECT_TRUE(shared(name, "own")) << name;
}

TEST_F(ShareRecords, ACopyIsTheSameToTheLastByte) {
  fs::copy_file(folder_ / "own", folder_ / "copy");
  EXPECT_TRUE(shared("copy", "own"));
  EXPECT_FALSE(shared("other", "own")) << "of the same size, with another last byte";
  write_file_atomically(folder_ / "shorter", std::string(3'000'000, 'a'));
  EXPECT_FALSE(shared("shorter", "own"));
  EXPECT_FALSE(shared("absent", "own"));
  EXPECT_FALSE(shared("absent", "absent")) << "nothing is there to be scored";
}

TEST_F(ShareRecords, OfListsAndPatternsEveryFileIsLookedAt) {
  EXPECT_TRUE(shared("other, own", "absent,own", "cifar"));
  EXPECT_FALSE(shared("other", "absent, own", "cifar"));
  EXPECT_TRUE(shared("o*", "own", "csv"));
  EXPECT_FALSE(shared("oth*", "own", "csv"));
}

TEST_F(ShareRecords, OneArchiveMayHoldBothAsOtherArrays) {
  DataSpec held_out = spec("own", "npz");
  EXPECT_TRUE(share_records(held_out, spec("own", "npz"), 1));
  held_out.arrays = {"x_test", "y_test"};
  EXPECT_FALSE(share_records(held_out, spec("own", "npz"), 1));
  held_out.format = "idx";
  EXPECT_TRUE(share_records(held_out, spec("own"), 1)) << "other files have no arrays";
  fs::copy_file(folder_ / "own", folder_ / "own.npy");
  held_out = spec("own.npy", "npz");
  held_out.arrays = {"x_test", "y_test"};
  EXPECT_TRUE(share_records(held_out, spec("own.npy", "npz"), 1)) << "nor has an array by itself";
}

TEST_F(ShareRecords, OfEachRanksFilesAllAreLookedAt) {
  fs::rename(folder_ / "own", folder_ / "part-1");
  fs::rename(folder_ / "other", folder_ / "part-0");
  EXPECT_TRUE(share_records(spec("part-1"), spec("part-{rank}"), 2));
  EXPECT_FALSE(share_records(spec("part-1"), spec("part-{rank}"), 1)) << "nobody reads it";
}

}  // namespace
}  // namespace muffle::data
