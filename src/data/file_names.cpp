#include "file_names.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
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

bool share_files(const DataSpec& one, const DataSpec& other) {
  const std::vector<std::string> mine = files_of(one, 0), theirs = files_of(other, 0);
  return std::any_of(mine.begin(), mine.end(), [&](const std::string& file) {
    return std::any_of(theirs.begin(), theirs.end(), [&](const std::string& their) {
      const WatchedStep step("looking at", file);
      std::error_code none;  // what is not there is no file of both; whoever opens it says so
      return std::filesystem::equivalent(file, their, none) && !none;
    });
  });
}

}  // namespace muffle::data
