// Runs the built command, at its most verbose, on a data set whose private values are known and easy to
// recognise, and then searches everything that it wrote (console, every rank's log, JSON, artifacts,
// temporary files, error texts) for them: the exact sums, the class counts and the records' numbers, as text
// and as bytes.
#include "e2e/canary.hpp"

#include <gtest/gtest-spi.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/hash.hpp"
#include "support/digits.hpp"
#include "support/tier.hpp"

namespace muffle::canary {
namespace {

const std::vector<int> kGood{0, 0};

TEST(CanaryTest, TheSearchItselfFindsWhatItLooksFor) {
  const Twice both;
  const auto needles = both.first().needles(true);
  ASSERT_GT(needles.size(), 2500u);
  for (const auto& [needle, what] : needles) ASSERT_TRUE(holds("noise " + needle + " noise", needle)) << what;
  for (const char* what : {"of rank 0", "of rank 1", "of all ranks", "a class count of rank 1"}) {
    EXPECT_TRUE(std::any_of(needles.begin(), needles.end(), [&](const auto& needle) {
      return needle.second.find(what) != std::string::npos;
    })) << what;
  }
  // A file with it is found, whatever the files are called; in what one run alone wrote it is chance.
  const Needles m{{std::to_string(both.first().records()), "m"}};
  const std::string leak = "it holds " + m.begin()->first + " records";
  write_file_atomically(both.first().folder() / "leak", leak);
  EXPECT_GT(both.expect_nowhere(m), 0u);
  write_file_atomically(both.second().folder() / "another", leak);
  EXPECT_NONFATAL_FAILURE(both.expect_nowhere(m), "m is in leak and, in the second run, in another");
  fs::remove(both.second().folder() / "another");
  fs::create_directory(both.second().folder() / m.begin()->first);
  EXPECT_NONFATAL_FAILURE(both.expect_nowhere(m), "in the second run, in the file name");
  // Digests, too.
  EXPECT_EQ(run_inside(both.first(), "python3 " + setting("DIGESTS") + " . --self-test"), 0);
  write_file_atomically(
      both.second().folder() / "another",
      "it is " + to_hex(sha256(PublicBytes(read_file(both.first().folder() / "data/points-1.idx")))));
  EXPECT_NONFATAL_FAILURE(both.expect_clean({}), "another: a digest of points-1.idx");
  // The exact sums are what muffle computes, not zeros; and the ranks' sums are parts of them.
  const Canary& canary = both.first();
  const auto sums = canary.exact_sums(true), first = canary.exact_sums(true, 0, 2),
             second = canary.exact_sums(true, 1, 2);
  EXPECT_EQ(sums[kClasses * 64 + 1], kCounts[1] << 24);
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(first[i] + second[i], sums[i]);
}

// The closed form reads the released moments of every class: the fit, its model and its samples are searched
// too.
TEST(CanaryTest, AClosedFormRunAtFullVerbosityWritesNoPrivateValue) {
  const Twice both({moments()});
  ASSERT_EQ(both.run("run " + common(0) + map_flags({moments()}) + scores() +
                         " --set privacy.release_counts=false --set model.generator=moments"
                         " --set privacy.adjacency=add-remove-one --out run/out",
                     "console"),
            kGood)
      << both.console("console");
  ASSERT_TRUE(fs::exists(both.first().folder() / "run/out/samples.npz"));
  EXPECT_GT(both.expect_clean(both.first().needles(true)), 10'000u);
}

TEST(CanaryTest, ARunAtFullVerbosityWritesNoPrivateValue) {
  const Twice both;
  ASSERT_EQ(both.run("run " + common(both.first().records()) + map_flags() + scores(false) + " --out run/out",
                     "console"),
            kGood)
      << both.console("console");
  ASSERT_TRUE(fs::exists(both.first().folder() / "run/out/metrics.json"));
  EXPECT_GT(both.expect_clean(both.first().needles(false)), 10'000u);
}

// Scores are computed on records, and say so; nothing else of those records is in what the evaluation writes.
TEST(CanaryTest, ARunWithScoresLeavesNoDigestOfARecord) {
  const Twice both;
  ASSERT_EQ(both.run("run " + common(0) + map_flags() + scores() +
                         " --set privacy.adjacency=add-remove-one --out run/out",
                     "console"),
            kGood)
      << both.console("console");
  ASSERT_TRUE(fs::exists(both.first().folder() / "run/out/metrics.json"));
  EXPECT_GT(both.expect_clean(both.first().needles(true)), 10'000u);
}

// `--samples` may name anything: what it names is not known to be public.
TEST(CanaryTest, ScoringAPrivateFileLeavesNoDigestOfIt) {
  const Twice both;
  for (const Canary* canary : {&both.first(), &both.second()}) {
    for (const auto& [from, to] : {std::pair{"points", "images"}, {"labels", "labels"}})
      fs::copy_file(canary->folder() / fmt::format("data/{}.idx", from),
                    canary->folder() / fmt::format("data/own-{}.idx", to));
  }
  ASSERT_EQ(both.run("evaluate " + common(both.first().records()) + scores(false) +
                         " --samples data/own-images.idx --out run/out",
                     "console"),
            kGood)
      << both.console("console");
  ASSERT_TRUE(fs::exists(both.first().folder() / "run/out/metrics.json"));
  both.expect_clean(both.first().needles(false));
}

/// What lies in the canary's folder, but for its data. The numbers in names (processes', days') are left out.
using Files = std::map<std::string, std::string>;
Files files_of(const Canary& canary) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(canary.folder())) {
    std::string name = fs::relative(entry.path(), canary.folder()).string();
    if (!entry.is_regular_file() || name.starts_with("data/")) continue;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }, '#');
    const auto rest =
        std::unique(name.begin(), name.end(), [](char a, char b) { return a == '#' && b == '#'; });
    name.erase(rest, name.end());  // a process may have a longer number than the one before
    files[name] += read_file(entry.path());
  }
  return files;
}

/// What may be a hash, or the beginning of one: 16 hexadecimal digits and more, 11 of base64 and more. The
/// hour of a log's line, as 2026-11-25T20, is none.
std::set<std::string> hashes_in(const std::string& text) {
  std::set<std::string> found;
  const auto runs = [&](std::size_t least, const auto& belongs) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t begin = i;
      while (i < text.size() && belongs(static_cast<unsigned char>(text[i]))) ++i;
      const std::string run = text.substr(begin, i - begin);
      const bool hour = run.size() == 13 && run[4] == '-' && run[7] == '-' && run[10] == 'T';
      if (run.size() >= least && !hour) found.insert(run);
    }
  };
  runs(16, [](unsigned char c) { return std::isxdigit(c) != 0; });
  runs(11, [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("+/-_", c) != nullptr; });
  return found;
}

/// Where `other` differs in what two jobs on the same records have in common: in files that are the same in
/// both, or in hashes of others.
std::vector<std::string> differing(const Files& once, const Files& again, const Files& other) {
  std::vector<std::string> out;
  for (const auto& [name, text] : once) {
    if (!again.contains(name)) continue;
    const std::string changed = other.contains(name) ? other.at(name) : "";
    if (text == again.at(name)) {
      if (text != changed) out.push_back(name);
      continue;
    }
    const auto here = hashes_in(text), there = hashes_in(again.at(name)), now = hashes_in(changed);
    for (const std::string& hash : here)
      if (there.contains(hash) && !now.contains(hash)) out.push_back(name + ": " + hash);
  }
  return out;
}

// A hash of settings and records together is none that could be looked for. But with seeded noise, and one
// byte of a record changed that leaves the sums as they are, the released numbers are the same, and so is
// everything that may be computed from them. (What two jobs on the same records do not share comes of time,
// processes or the operating system's entropy.)
void expect_one_byte_changes_no_hash(const std::vector<std::size_t>& shape, const std::string& flags) {
  Canary canary({rff()}, shape);
  std::vector<Files> jobs;
  for (int job = 0; job < 3; ++job) {
    if (job == 2) canary.change_one_byte();
    ASSERT_EQ(
        run_muffle(canary,
                   "run " + common(0, shape) + map_flags() + scores() + flags +
                       " --set privacy.adjacency=add-remove-one --insecure-seeded-noise 7 --out run/out",
                   "console"),
        0)
        << read_file(canary.folder() / "console");
    jobs.push_back(files_of(canary));
    // Scores may tell records apart, by as many digits as people read.
    std::string& scored = jobs.back().at("run/out/metrics.json");
    EXPECT_EQ(test::unrounded(scored), std::vector<std::string>{}) << scored;
    nlohmann::json json = nlohmann::json::parse(scored).flatten();
    for (nlohmann::json& value : json) {
      if (value.is_number_float()) value = 0;
    }
    scored = json.dump();
    // The search notices a hash of settings and records, in a file by itself and beside a time.
    const std::string hash =
        to_hex(sha256(PublicBytes("settings" + read_file(canary.folder() / "data/points.idx"))));
    jobs.back()["leak"] = hash;
    jobs.back()["log"] = fmt::format("{}: {}", job, hash);
    fs::remove_all(canary.folder() / "run");
  }
  const auto released_numbers = [](const std::string& file) {
    std::uint32_t header = 0;
    std::memcpy(&header, file.data() + 12, sizeof header);
    return file.substr(16 + header, file.size() - 16 - header - sizeof(Sha256Digest));
  };
  const std::string numbers = released_numbers(jobs[0].at("run/out/release.mfl"));
  for (const Files& job : jobs)
    EXPECT_TRUE(released_numbers(job.at("run/out/release.mfl")) == numbers) << "one byte changed the sums";
  EXPECT_EQ(differing(jobs[0], jobs[1], jobs[2]),
            (std::vector<std::string>{"leak", "log: " + jobs[0].at("leak")}));
}

TEST(CanaryTest, WithTheSameReleasedNumbersOneByteOfARecordChangesNoHash) {
  expect_one_byte_changes_no_hash({kDims}, "");
}

TEST(CanaryTest, WithTheSameReleasedNumbersOneByteOfAnImageChangesNoHash) {
  expect_one_byte_changes_no_hash({1, 3, 3},
                                  " --set 'evaluate.metrics=[\"classifiers\",\"feature-distance\"]'"
                                  " --set 'evaluate.classifiers=[\"logistic_regression\",\"mlp\",\"cnn\"]'");
}

// A bar that overwrites itself shows other texts than the plain lines of the other runs.
TEST(CanaryTest, ARunOnATerminalShowsNoPrivateValue) {
  const Twice both;
  const std::string job =
      "run " + common(0) + map_flags() + scores() + " --set privacy.adjacency=add-remove-one --out run/out";
  for (const Canary* canary : {&both.first(), &both.second()}) {
    ASSERT_EQ(run_on_terminal(*canary, job, "console"), 0) << read_file(canary->folder() / "console");
    EXPECT_NE(read_file(canary->folder() / "console").find("\r\033[K"), std::string::npos)
        << "a bar was drawn";
  }
  EXPECT_GT(both.expect_clean(both.first().needles(true)), 10'000u);
}

/// How sums come together, and what a neighbouring data set is.
struct Mode {
  std::string name, flags;
  bool m_is_private;
  Maps maps{rff()};
  bool per_rank = false;  ///< each rank has a file of its own
};

class CanaryModeTest : public ::testing::TestWithParam<Mode> {
 protected:
  std::string job() const {
    const Mode& mode = GetParam();
    return common(mode.m_is_private ? 0 : both_.first().records()) + map_flags(mode.maps) +
           (mode.m_is_private ? " --set privacy.adjacency=add-remove-one" : "") + mode.flags +
           (mode.per_rank ? " --set data.shards=per-rank" + files("points", "labels") : "");
  }
  std::string files(const std::string& points, const std::string& labels) const {
    const char* suffix = GetParam().per_rank ? "-{rank}" : "";
    return fmt::format(" --set 'data.features=data/{0}{2}.idx' --set 'data.labels=data/{1}{2}.idx'", points,
                       labels, suffix);
  }
  void expect_nothing_private() const { both_.expect_clean(both_.first().needles(GetParam().m_is_private)); }

  Twice both_{GetParam().maps};
};

TEST_P(CanaryModeTest, AReleaseAtFullVerbosityWritesNoPrivateValue) {
  ASSERT_EQ(both_.run("release " + job() + " --out run/out", "console"), kGood) << both_.console("console");
  ASSERT_TRUE(fs::exists(both_.first().folder() / "run/out/release.mfl"));
  ASSERT_TRUE(fs::exists(both_.first().folder() / "run/out/logs/rank-1.jsonl"));
  expect_nothing_private();
}

/// Killed between INTENT and COMMIT, in the middle of files, alone or with all ranks and mpiexec; aborted,
/// which dumps core where that is allowed; a disk that is full: what lies about then, temporary files and
/// MPI's shared memory among it, is searched too.
TEST_P(CanaryModeTest, AReleaseThatIsKilledMidwayLeavesNoPrivateValue) {
  bool half_written = false;
  // 69: the rank that is left may end the job before mpirun has seen the other one's end.
  for (const auto& [point, codes] :
       std::map<std::string, std::set<int>>{{"write@release.mfl:short-kill:1", {137, 69}},
                                            {"rename@release.mfl:kill-before:1", {137, 69}},
                                            {"rename@release.mfl:kill-after:1", {137, 69}},
                                            {"fsync@release.mfl:kill-job:1", {137}},
                                            {"fsync@release.mfl:abort-before:1", {134, 69}},
                                            {"write@release.mfl:full:1", {74}}}) {
    if (!test::thorough() && point.starts_with("rename")) continue;
    const std::string name = point.substr(0, point.rfind(':'));
    for (const int ended : both_.run("release " + job() + " --out run/" + name, "console-" + name, kRanks,
                                     setting("MUFFLE_FAULTY"), "MUFFLE_KILL_POINT=" + point)) {
      EXPECT_TRUE(codes.contains(ended)) << point << " ended with " << ended << "\n"
                                         << both_.console("console-" + name);
    }
    for (const auto& entry : fs::directory_iterator(both_.first().folder() / "run" / name))
      half_written |= entry.path().string().find(".tmp.") != std::string::npos;
  }
  EXPECT_TRUE(half_written) << "temporary files were there to be searched";
  for (const auto& entry : fs::recursive_directory_iterator(both_.first().folder())) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with("core")) << entry.path();
    EXPECT_TRUE(!name.starts_with("vader_segment") || entry.file_size() == 0) << entry.path();
  }
  expect_nothing_private();
}

// What is wrong with a record is in its own rank's log alone, and not even there its number.
TEST_P(CanaryModeTest, AReleaseThatBadDataEndLeavesNoPrivateValue) {
  for (const auto& [name, flags] : std::map<std::string, std::string>{
           {"label", files("points", "bad-labels")}, {"outside", files("bad-points", "labels")}}) {
    EXPECT_EQ(both_.run("release " + job() + flags + " --set data.on_error=reject-file --out run/" + name,
                        "console-" + name),
              (std::vector{65, 65}));
    EXPECT_FALSE(fs::exists(both_.first().folder() / "run" / name / "release.mfl"));
    // Clamped, it is one of the others.
    EXPECT_EQ(both_.run("release " + job() + flags + " --out run/" + name, "console-" + name), kGood);
  }
  Needles needles = both_.first().needles(GetParam().m_is_private);
  needles[std::to_string(kBadLabel)] = "the label outside the schema";
  needles[fmt::format("{}", kBadNumber).substr(0, 7)] = "the number outside the schema";
  both_.expect_clean(needles);
}

std::string name_of(const ::testing::TestParamInfo<Mode>& mode) { return mode.param.name; }

// The mode with most secrets, m and the class sizes among them, and most messages.
INSTANTIATE_TEST_SUITE_P(
    Quick, CanaryModeTest,
    ::testing::Values(Mode{
        "DistributedAddRemoveOne", " --secure-aggregation --distributed-noise", true, {rff()}, true}),
    name_of);
INSTANTIATE_TEST_SUITE_P(
    Thorough, CanaryModeTest,
    ::testing::Values(Mode{"SingleReplaceOne", "", false}, Mode{"SingleAddRemoveOne", "", true},
                      // Second moments alone, whose traces are the noisy counts of a private m; and two maps.
                      Mode{"MomentsAddRemoveOne",
                           " --set privacy.release_counts=false --set model.generator=moments",
                           true,
                           {moments()}},
                      Mode{"TwoMapsReplaceOne", "", false, {moments(), rff()}},
                      Mode{"MaskedReplaceOne", " --secure-aggregation", false},
                      Mode{"MaskedAddRemoveOne", " --secure-aggregation", true},
                      Mode{"DistributedReplaceOne", " --secure-aggregation --distributed-noise", false}),
    name_of);

TEST(CanaryTest, ErrorTextsHoldNoPrivateValue) {
  const Twice both;
  EXPECT_EQ(both.run("release " + common(5) + map_flags() + " --out run/wrong-m", "console"),
            (std::vector{65, 65}));
  both.expect_clean(both.first().needles(false));
}

}  // namespace
}  // namespace muffle::canary
