#include "muffle/core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path, int error,
                       std::source_location where = std::source_location::current()) {
  throw IoError(
      "cannot " + action + " '" + path.string() + "': " + std::strerror(error) +
          ". Check that the folder exists, that you may write there, and that the disk is not full.",
      {}, where);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
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

/// @returns whether the new name was free; if not, nothing has changed.
bool rename_if_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  const WatchedStep step("naming", to);
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return true;
  }
  if (errno == EEXIST) return false;
  // FAT, and some shares.
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) fail("write", to, errno);
  if (::access(to.c_str(), F_OK) == 0) return false;
  if (::rename(from.c_str(), to.c_str()) != 0) fail("write", to, errno);
  return true;
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = folder_of(file);
  const WatchedStep step("syncing the folder", folder);
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return errno;
  // Some network file systems refuse fsync on folders; a rename itself is still atomic there.
  return ::fsync(fd.get()) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

namespace {

/// Makes it if there is none.
FileDescriptor open_private_folder(const std::filesystem::path& folder) {
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (fd.get() < 0 && errno != ENOTDIR && errno != ELOOP) fail("open the folder", folder, errno);
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid())
    throw IoError("'" + folder.string() +
                  "' is a link, or no folder of this user's, and private lines are written into no other. "
                  "Move it away.");
  return fd;
}

}  // namespace

FileDescriptor open_private_file(const std::filesystem::path& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // of a FIFO: no wait
  const WatchedStep step("opening", path);
  const FileDescriptor folder = open_private_folder(folder_of(path));
  const std::string name = path.filename().string();
  FileDescriptor fd(::openat(folder.get(), name.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  if (fd.get() >= 0) return fd;
  if (errno == EEXIST) fd = FileDescriptor(::openat(folder.get(), name.c_str(), kFlags));
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) {
    if (errno != ELOOP) fail("write", path, errno);
    throw IoError("'" + path.string() +
                  "' is a link, and private lines are written through none. Remove it.");
  }
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1 || info.st_uid != ::geteuid())
    throw IoError("'" + path.string() +
                  "' is no regular file of this user's with one name, and private lines are written to no "
                  "other. Move it away.");
  // Of a copy of the folder; ignored by a file system without permissions.
  static_cast<void>(::fchmod(fd.get(), 0600));
  return fd;
}

InputFile::InputFile(std::filesystem::path path, std::string_view needed, std::string_view hint)
    : path_(std::move(path)), fd_(-1) {
  const WatchedStep step("opening", path_);
  // Non-blocking, so that a FIFO is refused below instead of waited for.
  fd_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (fd_.get() < 0 || ::fstat(fd_.get(), &info) != 0)
    throw IoError("cannot read '" + path_.string() + "': " + std::strerror(errno) + ". " + std::string(hint));
  if (!S_ISREG(info.st_mode))
    throw IoError("'" + path_.string() + "' is not a regular file; " + std::string(needed) + " is needed.");
  size_ = static_cast<std::uint64_t>(info.st_size);
  mode_ = info.st_mode & 07777;
}

InputFile::~InputFile() {
  const WatchedStep step("closing", path_);
  static_cast<void>(fd_.close());
}

std::size_t InputFile::read(std::span<std::byte> out) {
  for (;;) {
    const WatchedStep step("reading", path_);
    const ssize_t n = ::read(fd_.get(), out.data(), out.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw IoError("reading '" + path_.string() + "' failed half-way: " + std::strerror(errno) + ".");
    return static_cast<std::size_t>(n);
  }
}

void InputFile::skip(std::uint64_t bytes) {
  const WatchedStep step("seeking in", path_);
  if (::lseek(fd_.get(), static_cast<off_t>(bytes), SEEK_CUR) < 0)
    throw IoError("cannot seek in '" + path_.string() + "': " + std::strerror(errno) + ".");
}

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)), fd_(-1) {
  std::string name = (folder_of(path_) / ("." + path_.filename().string() + ".tmp.XXXXXX")).string();
  const WatchedStep step("creating", path_);
  fd_ = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (fd_.get() < 0) fail("write", path_, errno);
  temporary_ = name;
}

NewFile::~NewFile() {
  if (temporary_.empty()) return;
  const WatchedStep step("removing", temporary_);
  static_cast<void>(fd_.close());
  ::unlink(temporary_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  // Every call is a step of its own: a large file on a slow disk is no hang.
  constexpr std::size_t kAtATime = std::size_t{16} << 20;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const WatchedStep step("writing", path_);
    const ssize_t n = ::write(fd_.get(), bytes.data() + done, std::min(bytes.size() - done, kAtATime));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path_, errno);
    done += static_cast<std::size_t>(n);
  }
}

void NewFile::finish() {
  const WatchedStep step("syncing", path_);
  // mkostemp makes a file for this user alone; ours are as public as the user's other files.
  if (::fchmod(fd_.get(), 0666 & ~current_umask()) != 0) fail("write", path_, errno);
  if (::fsync(fd_.get()) != 0) fail("write", path_, errno);
  if (fd_.close() != 0) fail("write", path_, errno);
}

bool NewFile::commit_if_new() {
  finish();
  if (!rename_if_new(temporary_, path_)) return false;
  temporary_.clear();
  if (const int error = sync_folder_of(path_); error != 0) fail("sync the folder of", path_, error);
  return true;
}

void NewFile::commit() {
  finish();
  {
    const WatchedStep step("naming", path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
  }
  temporary_.clear();
  if (const int error = sync_folder_of(path_); error != 0) fail("sync the folder of", path_, error);
}

void move_into_place(const std::filesystem::path& from, const std::filesystem::path& to) {
  {
    const WatchedStep step("syncing", from);
    const FileDescriptor fd(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) fail("open", from, errno);
    if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) fail("write", to, errno);
    if (::rename(from.c_str(), to.c_str()) != 0) fail("write", to, errno);
  }
  if (const int error = sync_folder_of(to); error != 0) fail("sync the folder of", to, error);
}

bool move_if_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  {
    const WatchedStep step("syncing", from);
    const FileDescriptor fd(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) fail("open", from, errno);
    if (::fchmod(fd.get(), 0666 & ~current_umask()) != 0 || ::fsync(fd.get()) != 0) fail("write", to, errno);
  }
  if (!rename_if_new(from, to)) return false;
  if (const int error = sync_folder_of(to); error != 0) fail("sync the folder of", to, error);
  return true;
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  NewFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::ifstream in;
  {
    const WatchedStep step("opening", path);
    std::error_code ec;
    if (std::filesystem::is_directory(path, ec))
      throw IoError("'" + path.string() + "' is a folder; a file is needed.");
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
    if (text.size() > max_bytes)
      throw IoError("'" + path.string() + "' is larger than the " + std::to_string(max_bytes) +
                    " bytes that such a file may have: is it the right file?");
  }
  if (in.bad()) throw IoError("reading '" + path.string() + "' failed half-way: check the disk.");
  return text;
}

bool is_there(const std::filesystem::path& file, const std::string& what, const std::string& consequence) {
  const WatchedStep step("looking for", file);
  std::error_code error;
  const bool there = std::filesystem::exists(file, error);
  if (error)
    throw IoError("cannot look for " + what + " '" + file.string() + "': " + error.message() +
                  ". Check the path and your permissions. " + consequence);
  return there;
}

namespace watched {

bool exists(const std::filesystem::path& path) {
  const WatchedStep step("looking for", path);
  return std::filesystem::exists(path);
}

// The folder is trusted: nobody else puts a link in a folder's place meanwhile.
void remove_all(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> inside;
  {
    const WatchedStep step("listing", path);
    if (std::filesystem::is_directory(std::filesystem::symlink_status(path))) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) inside.push_back(entry.path());
    }
  }
  for (const auto& entry : inside) watched::remove_all(entry);
  const WatchedStep step("removing", path);
  std::filesystem::remove(path);
}

std::filesystem::path canonical(const std::filesystem::path& path) {
  const WatchedStep step("looking for", path);
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
}

}  // namespace watched

void ensure_writable_folder(const std::filesystem::path& folder) {
  const WatchedStep step("opening the folder", folder);
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec || !std::filesystem::is_directory(folder))
    throw IoError("cannot create the folder '" + folder.string() + "': " +
                  (ec ? ec.message() : std::string("something that is not a folder is in its place")) +
                  ". Choose another output folder, or mend its permissions.");
  std::string probe = (folder / ".muffle-probe.XXXXXX").string();
  const FileDescriptor fd(::mkstemp(probe.data()));
  if (fd.get() < 0)
    throw IoError("the folder '" + folder.string() + "' is not writable: " + std::strerror(errno) +
                  ". Choose another output folder, or mend its permissions.");
  ::unlink(probe.c_str());
}

void round_own_times(const std::filesystem::path& path, std::time_t since) {
  const WatchedStep step("setting the times of", path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  const auto rounded = [since](const timespec& time) {
    constexpr std::time_t kDay = 86400;
    return time.tv_sec < since ? timespec{0, UTIME_OMIT} : timespec{time.tv_sec / kDay * kDay, 0};
  };
  const timespec both[2] = {rounded(info.st_atim), rounded(info.st_mtim)};
  static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW));
}

void round_times(const std::filesystem::path& path, std::time_t since) {
  // All are listed before the first is set: to list a folder is an access to it.
  std::vector<std::filesystem::path> all{path};
  {
    const WatchedStep step("listing", path);
    std::error_code none;
    for (auto i = std::filesystem::recursive_directory_iterator(path, none);
         i != std::filesystem::recursive_directory_iterator(); i.increment(none))
      all.push_back(i->path());
  }
  for (const std::filesystem::path& file : all) round_own_times(file, since);
}

void require_room(const std::filesystem::path& folder, std::size_t bytes) {
  // What the C library writes into, block by block, where the file system cannot reserve: no more than this.
  constexpr std::size_t kMostWritten = std::size_t{1} << 30;
  const WatchedStep step("reserving room in", folder);
  const auto refuse = [&](const std::string& reason) {
    throw IoError("there is no room for " + std::to_string(bytes) + " bytes in '" + folder.string() +
                  "': " + reason + ". Make room, or choose another output folder.");
  };
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  if (!unknown && space.available < bytes)
    refuse("its disk has " + std::to_string(space.available) + " bytes left");
  std::string probe = (folder / ".muffle-room.XXXXXX").string();
  const FileDescriptor fd(::mkostemp(probe.data(), O_CLOEXEC));
  if (fd.get() < 0) fail("write into", folder, errno);
  ::unlink(probe.c_str());
  int error = ::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error == EOPNOTSUPP)
    error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(std::min(bytes, kMostWritten)));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) refuse(std::strerror(error));
}

}  // namespace muffle
