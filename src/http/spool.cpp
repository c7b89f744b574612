#include "spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;

constexpr char kBetween = '~';  // in no message's name

[[noreturn]] void fail(const char* doing, const fs::path& file, int error) {
  throw IoError(fmt::format("cannot {} '{}': {}.", doing, file.string(), std::strerror(error)));
}

/// The size that a file's name announces: NAME~SIZE~SHA256; none: it is no file of ours.
std::optional<std::uint64_t> announced(const std::string& file) {
  const std::size_t first = file.find(kBetween), last = file.rfind(kBetween);
  if (first == std::string::npos || last == first) return std::nullopt;
  std::uint64_t size = 0;
  const char* end = file.data() + last;
  const auto [stop, error] = std::from_chars(file.data() + first + 1, end, size);
  return error == std::errc() && stop == end ? std::optional(size) : std::nullopt;
}

}  // namespace

Spool::Spool(fs::path folder, std::uint64_t most_bytes, double keep_s)
    : folder_(std::move(folder)), most_bytes_(most_bytes), keep_s_(keep_s) {
  const WatchedStep step("making", folder_);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) fail("make", folder_, errno);
  if (!fs::is_directory(folder_)) fail("use", folder_, ENOTDIR);
}

fs::path Spool::file_of(const Incoming& m) const {
  return folder_ / fmt::format("{}{}{}{}{}", m.name, kBetween, m.size, kBetween, to_hex(m.sha256));
}

std::uint64_t Spool::have(const Incoming& message) const {
  const fs::path file = file_of(message);
  const WatchedStep step("looking for", file);
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0) return static_cast<std::uint64_t>(info.st_size);
  if (errno != ENOENT) fail("look at", file, errno);
  return 0;
}

bool Spool::reserve(const Incoming& message) {
  const WatchedStep step("listing", folder_);
  const std::string own = file_of(message).filename().string();
  const std::string same_name = message.name + kBetween;
  const auto now = std::time(nullptr);
  std::uint64_t used = 0;
  std::error_code error;
  for (auto i = fs::directory_iterator(folder_, error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    const std::string file = i->path().filename().string();
    const auto size = announced(file);
    if (!size || file == own) continue;
    struct stat info {};
    if (::stat(i->path().c_str(), &info) != 0) continue;
    if (file.starts_with(same_name) || std::difftime(now, info.st_mtime) > keep_s_) {
      ::unlink(i->path().c_str());
    } else {
      used = *size > most_bytes_ - std::min(used, most_bytes_) ? most_bytes_ : used + *size;
    }
  }
  if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder_.string(), error.message()));
  return message.size <= most_bytes_ - std::min(used, most_bytes_);
}

std::uint64_t Spool::add(const Incoming& message, std::uint64_t offset, std::string_view part) {
  const fs::path file = file_of(message);
  const WatchedStep step("writing", file);
  const FileDescriptor fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) fail("write", file, errno);
  const auto here = static_cast<std::uint64_t>(info.st_size);
  if (offset > here || offset + part.size() <= here) return here;
  if (::lseek(fd.get(), 0, SEEK_END) < 0) fail("write", file, errno);
  if (const int error = write_all(fd.get(), part.substr(here - offset)); error != 0)
    fail("write", file, error);
  return offset + part.size();
}

Spool::End Spool::finish(const Incoming& message, const fs::path& place) {
  const fs::path file = file_of(message);
  if (sha256_file_hex(PublicFile(file)) != to_hex(message.sha256)) {
    erase(message);
    return End::kOtherBytes;
  }
  const bool placed = move_if_new(file, place);
  if (!placed) erase(message);
  return placed ? End::kPlaced : End::kNameTaken;
}

void Spool::erase(const Incoming& message) const {
  const fs::path file = file_of(message);
  const WatchedStep step("removing", file);
  ::unlink(file.c_str());
}

}  // namespace muffle::http
