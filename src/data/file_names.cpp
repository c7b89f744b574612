#include "file_names.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::data {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

bool all_of_it(std::string_view text, char low, char high) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return c >= low && c <= high; });
}

/// Where "-00003-of-00008" begins in a name, or that with question marks for the part; npos: nowhere.
std::size_t part_at(std::string_view name) {
  const std::size_t of = name.rfind(kOf);
  if (of == std::string_view::npos || of < kDigits + 1 || name[of - kDigits - 1] != '-')
    return std::string_view::npos;
  const std::string_view part = name.substr(of - kDigits, kDigits),
                         parts = name.substr(of + kOf.size(), kDigits);
  const bool numbers = (all_of_it(part, '0', '9') || all_of_it(part, '?', '?')) && parts.size() == kDigits &&
                       all_of_it(parts, '0', '9');
  return numbers ? of - kDigits - 1 : std::string_view::npos;
}

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
  const std::string file = std::filesystem::path(path).filename().string();
  if (const std::size_t at = part_at(file); at != std::string::npos && file[at + 1] == '?') {
    std::uint64_t parts = 0;
    const char* digits = file.data() + at + 1 + kDigits + kOf.size();
    std::from_chars(digits, digits + kDigits, parts);
    if (names.size() != parts) {
      throw DataError(
          fmt::format("of the {} parts '{}' some are missing, or others are beside them. Copy "
                      "all of them.",
                      parts, path));
    }
  }
  return names;
}

std::string part_name(const std::string& name, std::uint64_t part, std::uint64_t parts) {
  return fmt::format("{}-{:05}-of-{:05}", name, part, parts);
}

std::string part_pattern(const std::string& name) {
  const std::size_t at = part_at(name);
  if (at == std::string::npos) return name;
  std::string pattern = name;
  return pattern.replace(at + 1, kDigits, kDigits, '?');
}

}  // namespace muffle::data
