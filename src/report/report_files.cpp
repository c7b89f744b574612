#include <fmt/format.h>

#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/private_file.hpp"
#include "muffle/report/report.hpp"

namespace muffle::report {
namespace {

namespace fs = std::filesystem;

bool says(std::string_view beginning, const char* kind) {
  return beginning.find(fmt::format("<meta name=\"muffle-report\" content=\"{}\">", kind)) !=
         std::string_view::npos;
}

/// By what the file says itself, not by its name.
void require_same_kind(const fs::path& path, bool is_private) {
  if (!is_there(path, "the report's file", "Nothing was written.")) return;
  std::string beginning(512, '\0');
  InputFile there(path, "a report", "Choose another name.");
  std::size_t n = 0;
  for (std::size_t got = 1; got > 0 && n < beginning.size(); n += got)
    got = there.read(std::as_writable_bytes(std::span(beginning)).subspan(n));
  beginning.resize(n);
  if (is_private ? says(beginning, "private") : says(beginning, "public") || says(beginning, "not-private"))
    return;
  throw ConfigError(
      fmt::format("'{}' is there already and is no {} report, so it is not replaced: choose another name.",
                  path.string(), is_private ? "private" : "public"));
}

}  // namespace

void require_writable(const fs::path& path, bool is_private) {
  if (is_private && path.filename() == kPublicName)
    throw ConfigError(fmt::format(
        "a private report is not written as '{}': that is what public ones are called. Choose another name.",
        path.string()));
  require_same_kind(path, is_private);
}

void write_report(const fs::path& path, const Report& report) {
  require_writable(path, report.is_private);
  if (report.is_private) {
    write_private_file(path, report.html);
  } else {
    write_file_atomically(path, report.html);
  }
  if (report.m_is_private) round_own_times(path);
}

}  // namespace muffle::report
