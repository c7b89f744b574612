#pragma once

// A data set whose private values are known and easy to recognise, and the search for them in everything that
// a run wrote.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/source.hpp"
#include "muffle/embed/embedding.hpp"
#include "support/maps.hpp"
#include "support/planned_release.hpp"
#include "support/raw_access.hpp"

namespace muffle::canary {

namespace fs = std::filesystem;

inline constexpr std::size_t kDims = 3, kClasses = 3;
/// Private: numbers that nothing else in a run has.
inline constexpr std::size_t kCounts[kClasses] = {3137, 4259, 5381};
inline constexpr std::uint8_t kBadLabel = 211;
inline constexpr float kBadNumber = 777.28515625f;  ///< outside the schema; no time of day holds its text
inline constexpr std::size_t kBadRecord = 9000;     ///< on rank 1, and not where its shard begins
inline constexpr int kRanks = 2;

using Needles = std::map<std::string, std::string>;  ///< needle -> what it is
/// What is released: each kind's settings, under its own name.
using Maps = std::map<std::string, test::MapKeys>;

inline Maps::value_type rff(std::size_t features = 64) {
  return {"rff", {{"count", std::to_string(features)}, {"length_scale", "0.5"}}};
}
inline Maps::value_type moments() { return {"moments", {}}; }

/// The data set, its files and its exact sums, in a folder of its own.
class Canary {
 public:
  explicit Canary(const Maps& maps = {rff()}, const std::vector<std::size_t>& shape = {kDims}) {
    schema_ = {shape, kClasses, 0.0, 1.0, schema::OnError::kRejectFile};
    for (const auto& [kind, settings] : maps)
      maps_.push_back(test::named(kind, test::make_map(kind, settings, schema_)));
    std::string name = (fs::temp_directory_path() / "muffle-canary-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(folder_ / "data");
    fs::create_directories(folder_ / "tmp");
    const CounterStream random(4242, Stream::kTest);
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t i = 0; i < kCounts[c]; ++i) labels_.push_back(static_cast<std::uint8_t>(c));
    }
    for (std::size_t i = 0; i < labels_.size() * schema_.dims(); ++i) {
      points_.push_back(static_cast<float>(0.1 + 0.8 * random.uniform(i)));
    }
    write("points", points_, shape);
    write("labels", labels_);
    std::vector<std::uint8_t> wrong = labels_;
    wrong[kBadRecord] = kBadLabel;  // outside every schema
    write("bad-labels", wrong);
    std::vector<float> outside = points_;
    outside[kBadRecord * schema_.dims()] = kBadNumber;
    write("bad-points", outside, shape);
  }
  ~Canary() { fs::remove_all(folder_); }
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  const fs::path& folder() const { return folder_; }
  std::size_t records() const { return labels_.size(); }

  release::ReleasePlan plan(bool counts) const {
    return release::make_plan({schema_, {}, maps_, test::epsilon_of(1.0), counts, records()});
  }

  /// What rank `rank` of `ranks` sums.
  std::vector<std::uint64_t> exact_sums(bool counts, int rank = 0, int ranks = 1) const {
    const data::DataSpec spec{.dir = (folder_ / "data").string(),
                              .features = "points.idx",
                              .labels = "labels.idx",
                              .records = records(),
                              .schema = schema_};
    const auto source = data::open_shard(spec, rank, ranks);
    return embed::TestAccess::values(embed::embed_shard(embed::make_embedder(plan(counts)), *source, 1, {}));
  }

  /// Flips a number's last bit, one for which that leaves the exact sums as they are.
  void change_one_byte() {
    const auto sums = exact_sums(true);
    for (std::size_t i = 0; i < points_.size() / kRanks; ++i) {  // of a record that is a test record, too
      const float before = points_[i];
      if (before >= 0.125f) continue;  // of small numbers the last bit means little
      points_[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(before) ^ 1u);
      write("points", points_, schema_.shape);
      if (exact_sums(true) == sums) return;
      points_[i] = before;
    }
    ADD_FAILURE() << "every number's last bit changes the sums";
  }

  /// All that is private: the total's and each rank's sums and class counts, records, and m if it is.
  Needles needles(bool m_is_private) const {
    Needles out;
    add_sums(out, exact_sums(true), "of all ranks");
    for (int r = 0; r < kRanks; ++r) add_sums(out, exact_sums(true, r, kRanks), fmt::format("of rank {}", r));
    if (m_is_private) {
      out[std::to_string(records())] = "m";
      const std::uint64_t m = records();
      out[std::string(reinterpret_cast<const char*>(&m), 8)] = "m as bytes";
      for (const std::size_t share : {records() / kRanks, records() - records() / kRanks})
        out[std::to_string(share)] = "a rank's number of records";
    }
    for (std::size_t i = 0; i < 400; ++i) {
      const std::size_t at =
          i * points_.size() / 400 / schema_.dims() * schema_.dims();  // a record's first number
      const float value = points_[at];
      out[fmt::format("{:.6f}", value)] = "a record's number as text";
      out[fmt::format("{}", value)] = "a record's number as its shortest text";
      std::uint32_t bits[2] = {std::bit_cast<std::uint32_t>(value),
                               std::bit_cast<std::uint32_t>(points_[at + 1])};
      for (const char* order : {"", "big-endian "}) {
        const char* const bytes = reinterpret_cast<const char*>(bits);
        out[std::string(bytes, 4)] = fmt::format("a record's number as {}bytes", order);
        out[std::string(bytes, 8)] = fmt::format("two of a record's numbers as {}bytes", order);
        for (std::uint32_t& b : bits) b = __builtin_bswap32(b);
      }
    }
    return out;
  }

 private:
  /// NAME.idx, and each rank's half of it in NAME-RANK.idx. @param shape  of a record
  template <class T>
  void write(const std::string& name, const std::vector<T>& numbers,
             const std::vector<std::size_t>& shape = {}) const {
    const auto part = [&](const std::string& file, std::size_t first, std::size_t last) {
      const auto d = static_cast<std::ptrdiff_t>(shape.empty() ? 1 : schema_.dims());
      std::vector<std::size_t> sizes{last - first};
      sizes.insert(sizes.end(), shape.begin(), shape.end());
      data::write_idx(folder_ / "data" / (file + ".idx"), sizes,
                      std::vector<T>(numbers.begin() + static_cast<std::ptrdiff_t>(first) * d,
                                     numbers.begin() + static_cast<std::ptrdiff_t>(last) * d));
    };
    const std::size_t n = records();
    part(name, 0, n);
    for (std::size_t r = 0; r < kRanks; ++r)
      part(fmt::format("{}-{}", name, r), r * n / kRanks, (r + 1) * n / kRanks);
  }

  /// Numbers below 1,000 would be found anywhere.
  void add_sums(Needles& out, const std::vector<std::uint64_t>& sums, const std::string& whose) const {
    constexpr std::int64_t kShort = 1000;
    const release::ReleasePlan plan = this->plan(true);
    const std::vector<double> units = test::units_of(plan);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<std::int64_t>(sums[i]);
      if (std::abs(value) < kShort) continue;
      const std::string what = fmt::format("exact sum {} {}", i, whose);
      out[std::to_string(value)] = what + " as text";
      out[std::string(reinterpret_cast<const char*>(&sums[i]), 8)] = what + " as bytes";
      const double real = static_cast<double>(value) / (units[i] == 0x1p24 ? 0x1p24 - 1 : units[i]);
      out[fmt::format("{:.8f}", real)] = what + " as a number";
      out[fmt::format("{:.9f}", real / static_cast<double>(records()))] = what + " as a mean";
    }
    for (std::size_t c = 0; c < kClasses; ++c) {
      const std::uint64_t count = sums[plan.offset(maps_.size()) + c] >> 24;
      if (count >= kShort) out[std::to_string(count)] = "a class count " + whose;
    }
    // The trace of a class's second moments is its number of records, but for the rounding of z.
    for (std::size_t b = 0; b < maps_.size(); ++b) {
      const auto inside = maps_[b].map->counts_inside(plan.lattice);
      if (!inside) continue;
      for (std::size_t c = 0; c < kClasses; ++c) {
        std::int64_t trace = 0;
        for (std::size_t i = 0; i < inside->numbers; ++i)
          trace += static_cast<std::int64_t>(sums[plan.offset(b) + c * plan.features(b) + i]);
        if (trace < kShort) continue;  // no record of the class on this rank
        out[std::to_string(trace)] = fmt::format("the trace of class {} {}", c, whose);
        out[fmt::format("{:.6f}", static_cast<double>(trace) / inside->scale)] =
            fmt::format("the trace of class {} {} as a number", c, whose);
      }
    }
  }

  schema::Schema schema_;
  std::vector<features::NamedMap> maps_;
  fs::path folder_;
  std::vector<float> points_;
  std::vector<std::uint8_t> labels_;
};

inline std::string setting(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) ADD_FAILURE() << name << " must be set by CTest";
  return value == nullptr ? "" : value;
}

/// Runs a command inside the canary's folder, in which core dumps would be left, too. @returns the exit
/// status.
inline int run_inside(const Canary& canary, const std::string& command) {
  const int status = std::system(
      fmt::format("cd {0} && ulimit -c unlimited && TMPDIR={0}/tmp {1}", canary.folder().string(), command)
          .c_str());
  return WEXITSTATUS(status);
}

/// Runs muffle on so many ranks there, and MPI's shared memory.
inline int run_muffle(const Canary& canary, const std::string& arguments, const std::string& log,
                      int ranks = kRanks, const std::string& binary = setting("MUFFLE"),
                      const std::string& environment = "") {
  return run_inside(
      canary,
      fmt::format("{5} timeout -k 5 300 {0} {1} --mca btl_vader_backing_directory $PWD/tmp -n {2} {3} "
                  "{4} >{6} 2>&1",
                  setting("MPIEXEC"), setting("MPIFLAGS"), ranks, binary, arguments, environment, log));
}

/// Runs muffle alone, on a terminal of its own, which `log` copies.
inline int run_on_terminal(const Canary& canary, std::string arguments, const std::string& log) {
  for (std::size_t at = 0; (at = arguments.find('"', at)) != std::string::npos; at += 2)
    arguments.insert(at, "\\");
  return run_inside(canary, fmt::format("timeout -k 5 300 script -qec \"{0} {1}\" {2} >{2}-echo 2>&1",
                                        setting("MUFFLE"), arguments, log));
}

/// The settings of its maps.
inline std::string map_flags(const Maps& maps = {rff()}) {
  std::string flags;
  for (const auto& [kind, settings] : maps) {
    flags += fmt::format(" --set map.{0}.kind={0}", kind);
    for (const auto& [key, value] : settings) flags += fmt::format(" --set map.{}.{}={}", kind, key, value);
  }
  return flags;
}

/// The settings of a job on the canary, without its maps. @param records  data.records: 0 where m is private
inline std::string common(std::size_t records, const std::vector<std::size_t>& shape = {kDims}) {
  return fmt::format(
      "-vv --set data.features=data/points.idx --set data.labels=data/labels.idx --set data.records={} --set "
      "data.classes={} --set 'data.shape={}' --set data.lo=0.0 --set data.hi=1.0 "
      "--set privacy.epsilon=1.0 --set privacy.max_records_per_person=1 --set privacy.release_counts=true "
      "--set model.generator=fully-connected --set 'model.hidden=[16]' --set train.steps=5 --set "
      "train.batch=60 "
      "--set sample.count=90 --set runtime.deadline_s=60",
      records, kClasses, shape);
}

/// Has `muffle run` score the samples; without, it leaves the scores out.
inline std::string scores(bool also_real = true) {
  return fmt::format(
      " --set 'evaluate.classifiers=[\"logistic_regression\"]' --set evaluate.also_real={}"
      " --set evaluate.own_records=true --set data.test_features=data/points-0.idx --set "
      "data.test_labels=data/labels-0.idx",
      also_real);
}

/// Whether `needle` is in `text`; a whole number only as a word of its own, not inside a hash or a longer
/// number.
inline bool holds(const std::string& text, const std::string& needle) {
  const bool number = needle.find_first_not_of("0123456789") == std::string::npos;
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1)) {
    const std::size_t end = at + needle.size();
    if (!number || ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))))
      return true;
  }
  return false;
}

/// The needles that are in what lies below the folder, in a file or its name, but for the private data
/// themselves: what they are, and where. @param searched  how many bytes
inline std::map<std::string, std::string> found_in(const Canary& canary, const Needles& needles,
                                                   std::uint64_t& searched) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(canary.folder())) {
    const std::string relative = fs::relative(entry.path(), canary.folder()).string();
    for (const auto& [needle, what] : needles) {
      if (holds(relative, needle)) found[what] = "the file name " + relative;
    }
    if (!entry.is_regular_file() || relative.rfind("data/", 0) == 0) continue;
    const std::string content = read_file(entry.path());
    searched += content.size();
    // Files of bytes that mean no text contain any 4 given ones now and then: those are searched for longer
    // needles.
    const bool binary = content.find('\0') != std::string::npos;
    for (const auto& [needle, what] : needles) {
      if ((!binary || needle.size() > 4) && holds(content, needle)) found[what] = relative;
    }
  }
  return found;
}

/// The same job twice, on the same records, with noise, keys, processes and times of its own each time: a
/// needle that is in what both wrote is there because of the records. One alone may be there by chance, as a
/// number of a process or a noisy sum.
class Twice {
 public:
  explicit Twice(const Maps& maps = {rff()}) : first_(maps), second_(maps) {}

  const Canary& first() const { return first_; }
  const Canary& second() const { return second_; }
  std::string console(const std::string& log) const {
    return read_file(first_.folder() / log) + read_file(second_.folder() / log);
  }

  /// Runs muffle in both folders. @returns both exit codes.
  template <class... More>
  std::vector<int> run(const std::string& arguments, const std::string& log, const More&... more) const {
    return {run_muffle(first_, arguments, log, more...), run_muffle(second_, arguments, log, more...)};
  }

  /// Neither the needles nor a digest of a record is in what both wrote. @returns how many bytes were
  /// searched.
  std::uint64_t expect_clean(const Needles& needles) const {
    EXPECT_EQ(run_inside(first_, fmt::format("python3 {} . {} >digests 2>&1", setting("DIGESTS"),
                                             second_.folder().string())),
              0)
        << read_file(first_.folder() / "digests");
    return expect_nowhere(needles);
  }

  /// The needles alone.
  std::uint64_t expect_nowhere(const Needles& needles) const {
    std::uint64_t searched = 0;
    const auto once = found_in(first_, needles, searched), again = found_in(second_, needles, searched);
    for (const auto& [what, where] : once) {
      const auto there = again.find(what);
      EXPECT_TRUE(there == again.end())
          << what << " is in " << where << " and, in the second run, in " << there->second;
    }
    return searched;
  }

 private:
  Canary first_, second_;
};

}  // namespace muffle::canary
