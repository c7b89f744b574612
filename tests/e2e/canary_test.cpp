// Runs the built command, at its most verbose, on a data set whose private values are known and easy to
// recognise, and then searches everything that it wrote (console, every rank's log, JSON, artifacts,
// temporary files, error texts) for them: the exact sums, the class counts and the records' numbers, as text
// and as bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/data/source.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/features/rff.hpp"
#include "support/raw_access.hpp"

namespace muffle {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDims = 3, kClasses = 3, kFeatures = 64;
constexpr std::size_t kCounts[kClasses] = {3137, 4259,
                                           5381};  // private: numbers that nothing else in a run has
constexpr double kLengthScale = 0.5;
constexpr std::uint8_t kBadLabel = 211;

/// The data set, its files and its exact sums, in a folder of its own.
class Canary {
 public:
  Canary() {
    std::string name = (fs::temp_directory_path() / "muffle-canary-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(folder_ / "data");
    fs::create_directories(folder_ / "tmp");
    const CounterStream random(4242, Stream::kTest);
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t i = 0; i < kCounts[c]; ++i) labels_.push_back(static_cast<std::uint8_t>(c));
    }
    for (std::size_t i = 0; i < labels_.size() * kDims; ++i) {
      points_.push_back(static_cast<float>(0.1 + 0.8 * random.uniform(i)));
    }
    const std::size_t n = labels_.size();
    data::write_idx(folder_ / "data" / "points.idx", std::vector<std::size_t>{n, kDims}, points_);
    data::write_idx(folder_ / "data" / "labels.idx", std::vector<std::size_t>{n}, labels_);
    labels_.back() = kBadLabel;  // outside every schema
    data::write_idx(folder_ / "data" / "bad-labels.idx", std::vector<std::size_t>{n}, labels_);
    labels_.back() = kClasses - 1;
  }
  ~Canary() { fs::remove_all(folder_); }

  const fs::path& folder() const { return folder_; }
  std::size_t records() const { return labels_.size(); }

  std::vector<std::uint64_t> exact_sums(bool counts) const {
    embed::Layout layout;
    layout.classes = kClasses;
    layout.counts = counts;
    features::RffSpec rff;
    rff.dims = kDims;
    rff.features = kFeatures;
    rff.length_scale = kLengthScale;
    layout.blocks.push_back(features::make_rff_block(rff, layout.lattice));
    data::DataSpec spec;
    spec.features = (folder_ / "data" / "points.idx").string();
    spec.labels = (folder_ / "data" / "labels.idx").string();
    spec.records = records();
    spec.schema = {{kDims}, kClasses, 0.0, 1.0, data::OnError::kRejectFile};
    const auto source = data::open_shard(spec, 0, 1);
    return embed::TestAccess::values(embed::embed_shard(layout, *source, 1, {}));
  }

  /// Needle -> what it is.
  std::map<std::string, std::string> needles(bool counts) const {
    std::map<std::string, std::string> out;
    const std::vector<std::uint64_t> sums = exact_sums(counts);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<std::int64_t>(sums[i]);
      const std::string what = fmt::format("exact sum {}", i);
      out[std::to_string(value)] = what + " as text";
      out[std::string(reinterpret_cast<const char*>(&sums[i]), 8)] = what + " as bytes";
      const double real = static_cast<double>(value) / 16777215.0;
      out[fmt::format("{:.8f}", real)] = what + " as a number";
      out[fmt::format("{:.9f}", real / static_cast<double>(records()))] = what + " as a mean";
    }
    for (const std::size_t count : kCounts) out[std::to_string(count)] = "a class count";
    for (std::size_t i = 0; i < 400; ++i) {
      const float value = points_[i * points_.size() / 400];
      out[fmt::format("{:.6f}", value)] = "a record's number as text";
      auto bits = std::bit_cast<std::uint32_t>(value);
      out[std::string(reinterpret_cast<const char*>(&bits), 4)] = "a record's number as bytes";
      bits = __builtin_bswap32(bits);
      out[std::string(reinterpret_cast<const char*>(&bits), 4)] = "a record's number as big-endian bytes";
    }
    return out;
  }

 private:
  fs::path folder_;
  std::vector<float> points_;
  std::vector<std::uint8_t> labels_;
};

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) ADD_FAILURE() << name << " must be set by CTest";
  return value == nullptr ? "" : value;
}

/// Runs muffle on 2 ranks inside the canary's folder. @returns the exit status.
int run_muffle(const Canary& canary, const std::string& arguments, const std::string& log) {
  const std::string command = fmt::format(
      "cd {0} && TMPDIR={0}/tmp timeout -k 5 300 {1} {2} -n 2 {3} {4} >{0}/{5} 2>&1",
      canary.folder().string(), setting("MPIEXEC"), setting("MPIFLAGS"), setting("MUFFLE"), arguments, log);
  const int status = std::system(command.c_str());
  return WEXITSTATUS(status);
}

std::string common(const Canary& canary) {
  return fmt::format(
      "-vv --set data.features=data/points.idx --set data.labels=data/labels.idx --set data.records={} --set "
      "data.classes={} "
      "--set 'data.shape=[{}]' --set data.lo=0.0 --set data.hi=1.0 --set features.count={} --set "
      "features.length_scale={} "
      "--set privacy.epsilon=1.0 --set privacy.max_records_per_person=1 --set "
      "model.generator=fully-connected "
      "--set 'model.hidden=[16]' --set train.steps=5 --set train.batch=60 --set sample.count=90 "
      "--set 'evaluate.metrics=[]' --set runtime.deadline_s=60",
      canary.records(), kClasses, kDims, kFeatures, kLengthScale);
}

/// Whether `needle` is in `text`; a whole number only as a word of its own, not inside a hash or a longer
/// number.
bool holds(const std::string& text, const std::string& needle) {
  const bool number = needle.find_first_not_of("0123456789") == std::string::npos;
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1)) {
    const std::size_t end = at + needle.size();
    if (!number || ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))))
      return true;
  }
  return false;
}

/// Every file below the folder but the private data themselves. @returns how many bytes were searched.
std::uint64_t expect_clean(const Canary& canary, const std::map<std::string, std::string>& needles) {
  std::uint64_t searched = 0;
  for (const auto& entry : fs::recursive_directory_iterator(canary.folder())) {
    const std::string relative = fs::relative(entry.path(), canary.folder()).string();
    for (const auto& [needle, what] : needles) {
      EXPECT_FALSE(holds(relative, needle)) << what << " is in the file name " << relative;
    }
    if (!entry.is_regular_file() || relative.rfind("data/", 0) == 0) continue;
    const std::string content = read_file(entry.path());
    searched += content.size();
    // Files full of random-looking bytes contain any 4 given ones now and then: only text is searched for
    // floats' bytes.
    const bool binary = content.find('\0') != std::string::npos;
    for (const auto& [needle, what] : needles) {
      if (binary && needle.size() < 5) continue;
      EXPECT_FALSE(holds(content, needle)) << what << " is in " << relative;
    }
  }
  return searched;
}

TEST(CanaryTest, TheSearchItselfFindsWhatItLooksFor) {
  const Canary canary;
  const auto needles = canary.needles(true);
  ASSERT_GT(needles.size(), 1000u);
  int found = 0;
  for (const auto& needle : {needles.begin()->first, std::to_string(kCounts[1])}) {
    found += holds("noise " + needle + " noise", needle) ? 1 : 0;
  }
  EXPECT_EQ(found, 2);
  // The exact sums are what muffle computes, not zeros.
  const auto sums = canary.exact_sums(true);
  EXPECT_EQ(sums[kClasses * kFeatures + 1], kCounts[1] << 24);
}

TEST(CanaryTest, ARunAtFullVerbosityWritesNoPrivateValue) {
  const Canary canary;
  ASSERT_EQ(run_muffle(canary, "run " + common(canary) + " --set privacy.release_counts=true --out run/out",
                       "console-1"),
            0)
      << read_file(canary.folder() / "console-1");
  ASSERT_TRUE(fs::exists(canary.folder() / "run/out/samples.npz"));
  EXPECT_GT(expect_clean(canary, canary.needles(true)), 10'000u);
}

TEST(CanaryTest, ErrorTextsHoldNoPrivateValue) {
  const Canary canary;
  EXPECT_EQ(
      run_muffle(canary, "release " + common(canary) + " --set data.labels=data/bad-labels.idx --out run/bad",
                 "console-2"),
      65);
  EXPECT_EQ(
      run_muffle(canary, "release " + common(canary) + " --set data.hi=0.5 --out run/outside", "console-3"),
      65);
  EXPECT_EQ(run_muffle(canary, "release " + common(canary) + " --set data.records=5 --out run/wrong-m",
                       "console-4"),
            65);
  auto needles = canary.needles(true);
  for (const char* console : {"console-2", "console-3"}) {
    const std::string text = read_file(canary.folder() / console);
    EXPECT_NE(text.find(".idx"), std::string::npos) << "the file is named";
    EXPECT_FALSE(holds(text, std::to_string(kBadLabel)))
        << "the label outside the schema is private: " << text;
  }
  expect_clean(canary, needles);
}

}  // namespace
}  // namespace muffle
