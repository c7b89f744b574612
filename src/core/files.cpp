#include "muffle/core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/file_descriptor.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path, int error,
                       std::source_location where = std::source_location::current()) {
  throw IoError(
      "cannot " + action + " '" + path.string() + "': " + std::strerror(error) +
          ". Check that the folder exists, that you may write there, and that the disk is not full.",
      where);
}

/// Without changing it, even for a moment: other threads make files.
mode_t current_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    unsigned mask = 0;
    if (name == "Umask:" && status >> std::oct >> mask) return mask;
  }
  return 0077;  // unknown: for this user alone
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) fail("open the folder", folder, errno);
  const WatchedStep step("syncing the folder", folder);
  // Some network file systems refuse fsync on folders; the rename itself is still atomic there.
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) fail("sync the folder", folder, errno);
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  // Every call is a step of its own: a large file on a slow disk is no hang.
  constexpr std::size_t kAtATime = std::size_t{16} << 20;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::string temporary = (folder / ("." + path.filename().string() + ".tmp.XXXXXX")).string();
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) fail("write", path, errno);
  const auto undo = [&](int error) {
    ::unlink(temporary.c_str());
    fail("write", path, error);
  };
  std::size_t done = 0;
  while (done < bytes.size()) {
    const WatchedStep step("writing", path);
    const ssize_t n = ::write(fd.get(), bytes.data() + done, std::min(bytes.size() - done, kAtATime));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) undo(errno);
    done += static_cast<std::size_t>(n);
  }
  {
    const WatchedStep step("syncing", path);
    // mkostemp makes a file for this user alone; ours are as public as the user's other files.
    if (::fchmod(fd.get(), 0666 & ~current_umask()) != 0) undo(errno);
    if (::fsync(fd.get()) != 0) undo(errno);
    if (fd.close() != 0) undo(errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) undo(errno);
  }
  sync_folder(folder);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec))
    throw IoError("'" + path.string() + "' is a folder; a file is needed.");
  std::ifstream in;
  {
    const WatchedStep step("opening", path);
    in.open(path, std::ios::binary);
  }
  if (!in)
    throw IoError("cannot read '" + path.string() + "': " + std::strerror(errno) +
                  ". Check the path and your permissions.");
  std::string text;
  char buffer[1 << 16];
  const auto read_some = [&] {
    const WatchedStep step("reading", path);
    return in.read(buffer, sizeof buffer) || in.gcount() > 0;
  };
  while (read_some()) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      throw IoError("'" + path.string() + "' is larger than the " + std::to_string(max_bytes) +
                    " bytes that such a file may have: is it the right file?");
    }
  }
  if (in.bad()) throw IoError("reading '" + path.string() + "' failed half-way: check the disk.");
  return text;
}

bool is_there(const std::filesystem::path& file, const std::string& what, const std::string& consequence) {
  std::error_code error;
  const bool there = std::filesystem::exists(file, error);
  if (error) {
    throw IoError("cannot look for " + what + " '" + file.string() + "': " + error.message() +
                  ". Check the path and your permissions. " + consequence);
  }
  return there;
}

void ensure_writable_folder(const std::filesystem::path& folder) {
  const WatchedStep step("opening the folder", folder);
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec || !std::filesystem::is_directory(folder)) {
    throw IoError("cannot create the folder '" + folder.string() + "': " +
                  (ec ? ec.message() : std::string("something that is not a folder is in its place")) +
                  ". Choose another output folder, or mend its permissions.");
  }
  std::string probe = (folder / ".muffle-probe.XXXXXX").string();
  const FileDescriptor fd(::mkstemp(probe.data()));
  if (fd.get() < 0) {
    throw IoError("the folder '" + folder.string() + "' is not writable: " + std::strerror(errno) +
                  ". Choose another output folder, or mend its permissions.");
  }
  ::unlink(probe.c_str());
}

void require_room(const std::filesystem::path& folder, std::size_t bytes) {
  const WatchedStep step("reserving room in", folder);
  std::string probe = (folder / ".muffle-room.XXXXXX").string();
  const FileDescriptor fd(::mkostemp(probe.data(), O_CLOEXEC));
  if (fd.get() < 0) fail("write into", folder, errno);
  ::unlink(probe.c_str());
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    throw IoError("there is no room for " + std::to_string(bytes) + " bytes in '" + folder.string() +
                  "': " + std::strerror(error) + ". Make room, or choose another output folder.");
  }
}

}  // namespace muffle
