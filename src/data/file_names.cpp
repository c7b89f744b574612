#include "file_names.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/records.hpp"

namespace muffle::data {
namespace {

std::vector<std::string> matches(const std::string& pattern) {
  const std::filesystem::path path = pattern;
  const WatchedStep step("looking for files of", path);
  glob_t found{};
  std::vector<std::string> names;
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (status != 0 && status != GLOB_NOMATCH)
    throw IoError("the files of '" + pattern + "' cannot be listed. Check that the folder can be read.");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> files_of(const DataSpec& spec, int rank) {
  const std::string path = resolve_path(spec, spec.features, rank);
  if (path.find_first_of("*?[") == std::string::npos || watched::exists(path)) return {path};
  std::vector<std::string> names = matches(path);
  if (names.empty()) throw DataError("no file matches '" + path + "': check data.dir and data.features.");
  const std::uint64_t parts = schema::parts_of(std::filesystem::path(path).filename().string());
  if (parts != 0 && names.size() != parts) {
    throw DataError(fmt::format(
        "of the {} parts '{}' some are missing, or others are beside them. Copy all of them.", parts, path));
  }
  return names;
}

namespace {

/// What a disk that hangs is said to be asked for: a picture's own name may be private.
std::filesystem::path shown_of(const DataSpec& spec) {
  return std::filesystem::path(spec.dir) / spec.features;
}

/// Content decides. Of files of other sizes nothing is read.
bool same_content(const std::string& one, const std::string& other, const std::filesystem::path& shown,
                  const Heartbeat& heartbeat) {
  std::optional<WatchedStep> step;
  step.emplace("comparing records with", shown);
  InputFile mine(one, "a record file", ""), theirs(other, "a record file", "");
  if (mine.size() != theirs.size() || mine.size() == 0) return false;
  constexpr std::size_t kAtATime = std::size_t{1} << 20;
  std::vector<std::byte> a(kAtATime), b(kAtATime);
  // Both are read to the same place, however little one call gives.
  const auto fill = [](InputFile& file, std::vector<std::byte>& into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const std::size_t n = file.read(std::span(into).subspan(filled));
      if (n == 0) break;
      filled += n;
    }
    return filled;
  };
  for (;;) {
    beat(heartbeat);
    step.reset();
    step.emplace("comparing records with", shown);
    const std::size_t n = fill(mine, a);
    if (fill(theirs, b) != n || !std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()))
      return false;
    if (n < kAtATime) return true;
  }
}

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  const WatchedStep step("looking at", one);
  std::error_code none;
  return std::filesystem::equivalent(one, other, none) && !none;
}

/// The path's pattern (glob(7)): any rank's.
std::string of_any_rank(const DataSpec& spec, const std::string& name) {
  constexpr std::string_view kRank = "{rank}";
  std::string path = (std::filesystem::path(spec.dir) / name).string();
  for (std::size_t at = path.find(kRank); at != std::string::npos; at = path.find(kRank, at))
    path.replace(at, kRank.size(), "*");
  return path;
}

/// Of all ranks, each once.
std::vector<Format::Part> parts_of(const DataSpec& spec, int ranks) {
  std::vector<Format::Part> out;
  for (int rank = 0; rank < (names_rank(spec, spec.features) ? ranks : 1); ++rank) {
    try {
      for (Format::Part& part : find_format(spec.format).parts(spec, rank)) out.push_back(std::move(part));
    } catch (const DataError&) {
      // Whoever opens them says what is wrong. But of pictures the same ones may be named in another way,
      // too.
      if (find_format(spec.format).holds_pictures()) throw;
    } catch (const IoError&) {  // what is not here is nothing that both have
    }
  }
  return out;
}

/// Files by what tells a file from others on its disk, and by their sizes.
struct Files {
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::string>;  ///< device, inode, array
  Files(const std::vector<Format::Part>& parts, const std::filesystem::path& shown,
        const Heartbeat& heartbeat) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i % kFilesABeat == 0) beat(heartbeat);
      const WatchedStep step("looking at", shown);
      struct stat status {};
      if (::stat(parts[i].file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      keys.emplace(status.st_dev, status.st_ino, parts[i].array);
      sizes[{static_cast<std::uint64_t>(status.st_size), parts[i].array}].push_back(parts[i].file);
    }
  }
  static constexpr std::size_t kFilesABeat = 4096;
  std::set<Key> keys;
  std::map<std::pair<std::uint64_t, std::string>, std::vector<std::string>> sizes;
};

/// What a file begins with: tells most of one size apart. Empty: it cannot be read.
std::string beginning(const std::string& file, const std::filesystem::path& shown) {
  const WatchedStep step("comparing records with", shown);
  constexpr std::size_t kBytes = 4096;
  std::string out(kBytes, '\0');
  try {
    InputFile input(file, "a record file", "");
    std::size_t n = 0;
    for (std::size_t got = 1; got > 0 && n < out.size(); n += got)
      got = input.read(std::as_writable_bytes(std::span(out)).subspan(n));
    out.resize(n);
  } catch (const IoError&) {
    out.clear();
  }
  return out;
}

/// Of files of one size.
bool any_same(const std::vector<std::string>& mine, const std::vector<std::string>& theirs,
              const std::filesystem::path& shown, const Heartbeat& heartbeat) {
  std::multimap<std::string, std::string> known;
  for (const std::string& file : mine) {
    if (known.size() % 64 == 0) beat(heartbeat);
    known.emplace(beginning(file, shown), file);
  }
  std::size_t seen = 0;
  for (const std::string& file : theirs) {
    if (seen++ % 64 == 0) beat(heartbeat);
    const std::string begins = beginning(file, shown);
    if (begins.empty()) continue;
    const auto [first, end] = known.equal_range(begins);
    for (auto it = first; it != end; ++it) {
      try {
        if (same_content(it->second, file, shown, heartbeat)) return true;
      } catch (const IoError&) {  // gone meanwhile
      }
    }
  }
  return false;
}

}  // namespace

bool names_file(const DataSpec& spec, const std::filesystem::path& file) {
  for (const std::string& names : {spec.features, spec.labels}) {
    for (std::size_t at = 0; at < names.size();) {  // some formats take several
      const std::size_t end = std::min(names.find(',', at), names.size());
      for (const std::string& name : {names, names.substr(at, end - at)}) {
        const std::string path = of_any_rank(spec, name);
        std::vector<std::string> all{path};
        if (path.find_first_of("*?[") != std::string::npos) {
          for (std::string& match : matches(path)) all.push_back(std::move(match));
        }
        if (std::ranges::any_of(all, [&](const auto& one) { return same_file(one, file); })) return true;
      }
      at = end + 1;
    }
  }
  return false;
}

bool share_records(const DataSpec& one, const DataSpec& other, int ranks) {
  const std::filesystem::path shown = shown_of(other);
  const Files mine(parts_of(one, ranks), shown, other.heartbeat);
  const Files theirs(parts_of(other, ranks), shown, other.heartbeat);
  for (const Files::Key& key : mine.keys) {
    if (theirs.keys.contains(key)) return true;
  }
  for (const auto& [size, files] : mine.sizes) {
    const auto of_that_size = theirs.sizes.find(size);
    if (of_that_size != theirs.sizes.end() && any_same(files, of_that_size->second, shown, other.heartbeat))
      return true;
  }
  return false;
}

}  // namespace muffle::data
