#include "ledger_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::privacy::ledger {
namespace {

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path, int error,
                       const std::string& consequence,
                       std::source_location where = std::source_location::current()) {
  throw IoError(fmt::format("cannot {} '{}': {}. Check the disk's space and your permissions. {}", action,
                            path.string(), std::strerror(error), consequence),
                {}, where);
}

int sync_file(int fd) { return ::fsync(fd) == 0 ? 0 : errno; }

/// Where a ledger is written before it has its name.
std::filesystem::path beginning_of(const std::filesystem::path& file) { return file.string() + ".new"; }

std::string holder(int fd, const std::filesystem::path& file) {
  std::array<char, 256> text{};
  const WatchedStep step("reading", file);
  const ssize_t n = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string name(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  name.resize(std::min(name.size(), name.find('\n')));
  return name.empty() ? "a process that has not said who it is" : storable(name);
}

/// Whether the open file is the one that has this name now.
bool has_name(int fd, const std::filesystem::path& file) {
  struct stat mine {
  }, named{};
  const WatchedStep step("looking at the ledger's lock", file);
  return ::fstat(fd, &mine) == 0 && ::lstat(file.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

constexpr char kNothing[] = "Nothing was charged or drawn.";

}  // namespace

Lock::Lock(std::filesystem::path file, std::chrono::milliseconds deadline, const Heartbeat& heartbeat)
    : file_(std::move(file)), fd_(-1) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  do {
    open();
    wait_until(end, deadline, heartbeat);
  } while (!has_name(fd_.get(), file_));
  // For messages alone, so a failure here does no harm.
  const std::string me = fmt::format("process {} on {} since {}\n", ::getpid(), host_name(), today());
  const WatchedStep step("writing", file_);
  if (::ftruncate(fd_.get(), 0) == 0) (void)write_all(fd_.get(), me);
}

Lock::~Lock() {
  const WatchedStep step("unlocking", file_);
  static_cast<void>(fd_.close());
}

void Lock::open() {
  const WatchedStep step("opening the ledger's lock", file_);
  // As public as the user's other files: those who share a ledger share its lock. Never through a link.
  fd_ = FileDescriptor(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (fd_.get() < 0) fail("open the ledger's lock", file_, errno, kNothing);
}

void Lock::wait_until(std::chrono::steady_clock::time_point end, std::chrono::milliseconds deadline,
                      const Heartbeat& heartbeat) const {
  auto pause = std::chrono::milliseconds(1);
  // A network file system may ask its server, and wait for it.
  const auto lock = [&] {
    const WatchedStep step("locking", file_);
    return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  };
  for (int error = lock(); error != 0; error = lock()) {
    if (error == EINTR) continue;
    if (error != EWOULDBLOCK) fail("lock", file_, error, kNothing);
    named_step("ledger.wait");
    if (heartbeat) heartbeat();
    if (std::chrono::steady_clock::now() >= end) {
      throw CommError(
          fmt::format("The privacy ledger is in use: '{}' is held by {}, and {:.3g} s of waiting were not "
                      "enough. Releases of one data set take turns: wait for that one, or end it if it hangs "
                      "(its lock ends with it). {}",
                      file_.string(), holder(fd_.get(), file_),
                      std::chrono::duration<double>(deadline).count(), kNothing));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
}

void require_one_name(const std::filesystem::path& file) {
  struct stat status {};
  const WatchedStep step("looking at the ledger", file);
  const auto look = [&] {
    if (::stat(file.c_str(), &status) != 0) fail("look at the ledger", file, errno, kNothing);
    return status.st_nlink == 1;
  };
  if (look()) return;
  ::unlink(beginning_of(file).c_str());
  if (look()) return;
  throw ProtocolError(
      fmt::format("The ledger '{}' has {} names (hard links). Under another name it would have another lock, "
                  "and two releases could spend the same budget. Find the other names (`find / -samefile`), "
                  "and keep one. Nothing was charged or drawn.",
                  file.string(), status.st_nlink));
}

void create_with_line(const std::filesystem::path& file, std::string_view line) {
  const std::filesystem::path fresh = beginning_of(file);
  write_file_atomically(fresh, std::string(line) + "\n");
  // A rename would replace a ledger, and with it all that was ever charged; a link never does.
  int linked = 0;
  {
    const WatchedStep step("creating the ledger", file);
    linked = ::link(fresh.c_str(), file.c_str()) == 0 ? 0 : errno;
    ::unlink(fresh.c_str());
  }
  const std::string consequence = "No ledger was created, and nothing was charged or drawn.";
  if (linked != 0 && linked != EEXIST) {
    fail("create, by a hard link, the ledger", file, linked,
         consequence + " If this file system has no hard links, put the ledger on another one.");
  }
  if (const int error = sync_folder_of(file); error != 0)
    fail("sync the folder of", file, error, consequence);
}

void append_line(const std::filesystem::path& file, std::uint64_t size, std::string_view line) {
  const WatchedStep step("appending to the ledger", file);
  const FileDescriptor fd(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  std::string consequence = "The line was not added to the ledger.";
  if (fd.get() < 0) fail("append to the ledger", file, errno, consequence);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail("look at the ledger", file, errno, consequence);
  if (static_cast<std::uint64_t>(status.st_size) != size) {
    throw ProtocolError(fmt::format(
        "The ledger '{}' has {} bytes instead of {}: somebody wrote to it while this process held its lock. "
        "Locks do not seem to work on this file system: put the ledger on another one. {}",
        file.string(), status.st_size, size, consequence));
  }
  std::string text(line);
  text += '\n';
  int error = write_all(fd.get(), text);
  if (error == 0) error = sync_file(fd.get());
  if (error == 0) error = sync_folder_of(file);
  if (error != 0) {
    // Best effort: what cannot be cut off now is mended, and counted, by whoever opens the ledger next.
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) == 0) {
      (void)sync_file(fd.get());
    } else {
      consequence = "Part of the line, or all of it, may be in the ledger: what it charges counts as spent.";
    }
    fail("append to the ledger", file, error, consequence);
  }
}

}  // namespace muffle::privacy::ledger
