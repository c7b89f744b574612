// Runs the built command, at its most verbose, on a data set whose private values are known and easy to
// recognise, and then searches everything that it wrote (console, every rank's log, JSON, artifacts,
// temporary files, error texts) for them: the exact sums, the class counts and the records' numbers, as text
// and as bytes.
#include "e2e/canary.hpp"

#include <gtest/gtest-spi.h>

#include <algorithm>
#include <set>

namespace muffle::canary {
namespace {

constexpr char kMomentsOnly[] =
    " --set 'features.blocks=[\"moments\"]' --set privacy.release_counts=false --set model.generator=moments";
constexpr char kTwoBlocks[] = " --set 'features.blocks=[\"rff\", \"moments\"]'";

TEST(CanaryTest, TheSearchItselfFindsWhatItLooksFor) {
  const Canary canary;
  const auto needles = canary.needles(true);
  ASSERT_GT(needles.size(), 2500u);
  for (const auto& [needle, what] : needles) {
    ASSERT_TRUE(holds("noise " + needle + " noise", needle)) << what;
    // A file with it is found, whatever the file is called.
    if (what != "m") continue;
    write_file_atomically(canary.folder() / "leak", "it holds " + needle + " records");
    EXPECT_NONFATAL_FAILURE(expect_clean(canary, {{needle, what}}), "m is in leak");
  }
  for (const char* what : {"of rank 0", "of rank 1", "of all ranks", "a class count of rank 1"}) {
    EXPECT_TRUE(std::any_of(needles.begin(), needles.end(), [&](const auto& needle) {
      return needle.second.find(what) != std::string::npos;
    })) << what;
  }
  // One number of a release may be an exact sum by chance, but neither two of them nor the same one in each
  // run.
  std::vector<std::string> sums_as_bytes;
  for (const auto& [needle, what] : needles) {
    if (what.starts_with(kExactSum) && what.ends_with(kAsBytes))
      sums_as_bytes.push_back(needle + std::string(1, '\0'));
  }
  fs::remove(canary.folder() / "leak");
  write_file_atomically(canary.folder() / "release.mfl", sums_as_bytes[0]);
  expect_clean(canary, needles);
  write_file_atomically(canary.folder() / "release.mfl", sums_as_bytes[0] + sums_as_bytes[1]);
  EXPECT_NONFATAL_FAILURE(expect_clean(canary, needles), "and others are in ");
  fs::remove(canary.folder() / "release.mfl");
  fs::create_directory(canary.folder() / "another");
  write_file_atomically(canary.folder() / "another/release.mfl", sums_as_bytes[0]);
  EXPECT_NONFATAL_FAILURE(expect_clean(canary, needles), "of several runs");
  fs::rename(canary.folder() / "another/release.mfl", canary.folder() / "model.mfl");
  EXPECT_NONFATAL_FAILURE(expect_clean(canary, needles), "is in model.mfl");
  // The exact sums are what muffle computes, not zeros; and the ranks' sums are parts of them.
  const auto sums = canary.exact_sums(true), first = canary.exact_sums(true, 0, 2),
             second = canary.exact_sums(true, 1, 2);
  EXPECT_EQ(sums[kClasses * 64 + 1], kCounts[1] << 24);
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(first[i] + second[i], sums[i]);
}

// Process numbers, rates, losses and noisy class shares are public, and any number; beside them the search
// finds as ever.
TEST(CanaryTest, NumbersThatChanceDecidesAreNoFindings) {
  const Canary canary;
  const Needles needles{{"3137", "a class count"}, {"0.244520", std::string(kOfRecord) + " as text"}};
  write_file_atomically(
      canary.folder() / "log",
      R"({"pid":3137,"message":"sample: 90 records in 0.0287 s, 3137 a second; collectives of rank 0: none"}
train: step 4 loss 0.244520
train: 4/5 steps (80%), 3137 steps/s, 0s left, loss 0.24452
[host:3137] *** Process received signal *** of [[3137,1],0], PID 3137
process 3137 on some.host since 2026-11-22T08:00:00Z
543948800.0;tcp://127.0.0.1:35385
3137
)");
  fs::create_directory(canary.folder() / "pmix_dstor_ds21_3137");
  const std::string header = R"({"class_share":[0.24452000317,0.3333333,0.42214])";
  write_file_atomically(canary.folder() / "model.mfl", std::string("MUFFLE\0", 7) + header);
  expect_clean(canary, needles);
  for (const char* leak : {"train: step 3137", "3137 records", "3137 a", "loss 1 3137", "[3137]", "[3137, 1]",
                           "will process 3137 records", R"({"pid":1,"message":"3137"})", "loss of 0.244520",
                           "0.244520,0.3333333"}) {
    SCOPED_TRACE(leak);
    write_file_atomically(canary.folder() / "leak", leak);
    EXPECT_NONFATAL_FAILURE(expect_clean(canary, needles), "is in leak");
  }
  // An exact sum that is the share of a class would be found in the header, too.
  EXPECT_NONFATAL_FAILURE(expect_clean(canary, {{"0.24452000", "exact sum 0 of all ranks as a mean"}}),
                          "is in model.mfl");
}

// The closed form reads the released moments of every class: the fit, its model and its samples are searched
// too.
TEST(CanaryTest, AClosedFormRunAtFullVerbosityWritesNoPrivateValue) {
  const Canary canary(64, {"moments"});
  ASSERT_EQ(run_muffle(canary,
                       "run " + common(0) + kMomentsOnly +
                           " --set privacy.adjacency=add-remove-one --set sample.count=90 --out run/out",
                       "console-1"),
            0)
      << read_file(canary.folder() / "console-1");
  ASSERT_TRUE(fs::exists(canary.folder() / "run/out/samples.npz"));
  EXPECT_GT(expect_clean(canary, canary.needles(true)), 10'000u);
}

TEST(CanaryTest, ARunAtFullVerbosityWritesNoPrivateValue) {
  const Canary canary;
  ASSERT_EQ(run_muffle(canary, "run " + common(canary.records()) + " --out run/out", "console-1"), 0)
      << read_file(canary.folder() / "console-1");
  ASSERT_TRUE(fs::exists(canary.folder() / "run/out/samples.npz"));
  EXPECT_GT(expect_clean(canary, canary.needles(false)), 10'000u);
}

// A bar that overwrites itself shows other texts than the plain lines of the other runs.
TEST(CanaryTest, ARunOnATerminalShowsNoPrivateValue) {
  const Canary canary;
  ASSERT_EQ(
      run_on_terminal(canary, "run " + common(0) + " --set privacy.adjacency=add-remove-one --out run/out",
                      "console-1"),
      0)
      << read_file(canary.folder() / "console-1");
  EXPECT_NE(read_file(canary.folder() / "console-1").find("\r\033[K"), std::string::npos)
      << "a bar was drawn";
  EXPECT_GT(expect_clean(canary, canary.needles(true)), 10'000u);
}

/// How sums come together, and what a neighbouring data set is.
struct Mode {
  std::string name, flags;
  bool m_is_private;
  std::vector<std::string> blocks{"rff"};
  bool per_rank = false;  ///< each rank has a file of its own
};

class CanaryModeTest : public ::testing::TestWithParam<Mode> {
 protected:
  std::string job() const {
    const std::string adjacency = GetParam().m_is_private ? " --set privacy.adjacency=add-remove-one" : "";
    return common(GetParam().m_is_private ? 0 : canary_.records()) + adjacency + GetParam().flags +
           (GetParam().per_rank ? " --set data.shards=per-rank" + files("points", "labels") : "");
  }
  std::string files(const std::string& points, const std::string& labels) const {
    const char* suffix = GetParam().per_rank ? "-{rank}" : "";
    return fmt::format(" --set 'data.features=data/{0}{2}.idx' --set 'data.labels=data/{1}{2}.idx'", points,
                       labels, suffix);
  }
  std::string console(const std::string& name) const { return read_file(canary_.folder() / name); }
  void expect_nothing_private() const { expect_clean(canary_, canary_.needles(GetParam().m_is_private)); }

  Canary canary_{64, GetParam().blocks};
};

TEST_P(CanaryModeTest, AReleaseAtFullVerbosityWritesNoPrivateValue) {
  ASSERT_EQ(run_muffle(canary_, "release " + job() + " --out run/out", "console"), 0) << console("console");
  ASSERT_TRUE(fs::exists(canary_.folder() / "run/out/release.mfl"));
  ASSERT_TRUE(fs::exists(canary_.folder() / "run/out/logs/rank-1.jsonl"));
  expect_nothing_private();
}

/// Killed between INTENT and COMMIT, in the middle of files, alone or with all ranks and mpiexec; aborted,
/// which dumps core where that is allowed; a disk that is full: what lies about then, temporary files and
/// MPI's shared memory among it, is searched too.
TEST_P(CanaryModeTest, AReleaseThatIsKilledMidwayLeavesNoPrivateValue) {
  bool half_written = false;
  // 69: the rank that is left may end the job before mpirun has seen the other one's end.
  for (const auto& [point, ends] :
       std::map<std::string, std::set<int>>{{"write@release.mfl:short-kill:1", {137, 69}},
                                            {"rename@release.mfl:kill-before:1", {137, 69}},
                                            {"rename@release.mfl:kill-after:1", {137, 69}},
                                            {"fsync@release.mfl:kill-job:1", {137}},
                                            {"fsync@release.mfl:abort-before:1", {134, 69}},
                                            {"write@release.mfl:full:1", {74}}}) {
    const std::string name = point.substr(0, point.rfind(':'));
    const int ended = run_muffle(canary_, "release " + job() + " --out run/" + name, "console-" + name,
                                 kRanks, setting("MUFFLE_FAULTY"), "MUFFLE_KILL_POINT=" + point);
    EXPECT_TRUE(ends.contains(ended)) << point << " ended with " << ended << "\n"
                                      << console("console-" + name);
    for (const auto& entry : fs::directory_iterator(canary_.folder() / "run" / name))
      half_written |= entry.path().string().find(".tmp.") != std::string::npos;
  }
  EXPECT_TRUE(half_written) << "temporary files were there to be searched";
  for (const auto& entry : fs::recursive_directory_iterator(canary_.folder())) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with("core")) << entry.path();
    EXPECT_TRUE(!name.starts_with("vader_segment") || entry.file_size() == 0) << entry.path();
  }
  expect_nothing_private();
}

TEST_P(CanaryModeTest, AReleaseThatBadDataEndLeavesNoPrivateValue) {
  const std::string bad_text = fmt::format("{}", kBadNumber).substr(0, 7);
  for (const auto& [name, flags] : std::map<std::string, std::string>{
           {"label", files("points", "bad-labels")}, {"outside", files("bad-points", "labels")}}) {
    EXPECT_EQ(run_muffle(canary_, "release " + job() + flags + " --out run/" + name, "console-" + name), 65);
    const std::string text = without_chance(console("console-" + name));
    EXPECT_FALSE(holds(text, std::to_string(kBadLabel)))
        << "the label outside the schema is private: " << text;
    EXPECT_FALSE(holds(text, bad_text)) << "and so is the number: " << text;
    for (const char* log : {"rank-0.jsonl", "rank-1.jsonl"}) {
      const std::string own = without_chance(read_file(canary_.folder() / "run" / name / "logs" / log));
      EXPECT_FALSE(holds(own, std::to_string(kBadLabel)) || holds(own, bad_text)) << own;
    }
    EXPECT_FALSE(fs::exists(canary_.folder() / "run" / name / "release.mfl"));
  }
  expect_nothing_private();
}

std::string name_of(const ::testing::TestParamInfo<Mode>& mode) { return mode.param.name; }

// The mode with most secrets, m and the class sizes among them, and most messages.
INSTANTIATE_TEST_SUITE_P(Quick, CanaryModeTest,
                         ::testing::Values(Mode{"DistributedAddRemoveOne",
                                                " --secure-aggregation --distributed-noise",
                                                true,
                                                {"rff"},
                                                true}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(
    Thorough, CanaryModeTest,
    ::testing::Values(Mode{"SingleReplaceOne", "", false}, Mode{"SingleAddRemoveOne", "", true},
                      // Second moments alone, whose traces are the noisy counts of a private m; and two blocks.
                      Mode{"MomentsAddRemoveOne", kMomentsOnly, true, {"moments"}},
                      Mode{"TwoBlocksReplaceOne", kTwoBlocks, false, {"rff", "moments"}},
                      Mode{"MaskedReplaceOne", " --secure-aggregation", false},
                      Mode{"MaskedAddRemoveOne", " --secure-aggregation", true},
                      Mode{"DistributedReplaceOne", " --secure-aggregation --distributed-noise", false}),
    name_of);

TEST(CanaryTest, ErrorTextsHoldNoPrivateValue) {
  const Canary canary;
  EXPECT_EQ(run_muffle(canary, "release " + common(5) + " --out run/wrong-m", "console"), 65);
  expect_clean(canary, canary.needles(false));
}

}  // namespace
}  // namespace muffle::canary
