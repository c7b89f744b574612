#include "muffle/core/chained_file.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

constexpr std::string_view kHashKey = R"(,"sha256":")";

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& path, int error,
                       std::string_view consequence,
                       std::source_location where = std::source_location::current()) {
  throw IoError(fmt::format("cannot {} '{}': {}. Check the disk's space and your permissions. {}", action,
                            path.string(), std::strerror(error), consequence),
                {}, where);
}

int sync_file(int fd) { return ::fsync(fd) == 0 ? 0 : errno; }

/// Where a book is written before it has its name.
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
  const WatchedStep step("looking at the lock", file);
  return ::fstat(fd, &mine) == 0 && ::lstat(file.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

/// Under the lock, of a file that is there. The lock is the name's: a second hard link would be written under
/// another. What a crash in create_book() left is tidied away.
void require_one_name(const std::filesystem::path& file, const BookWords& words) {
  struct stat status {};
  const WatchedStep step("looking at", file);
  const auto look = [&] {
    if (::stat(file.c_str(), &status) != 0)
      fail(fmt::format("look at the {}", words.noun), file, errno, words.nothing);
    return status.st_nlink == 1;
  };
  if (look()) return;
  ::unlink(beginning_of(file).c_str());
  if (look()) return;
  throw ProtocolError(
      fmt::format("The {} '{}' has {} names (hard links). Under another name it would have another lock, "
                  "and {}. Find the other names (`find / -samefile`), and keep one. {}",
                  words.noun, file.string(), status.st_nlink, words.two_names, words.nothing));
}

bool book_is_there(const std::filesystem::path& file, const BookWords& words) {
  return is_there(file, fmt::format("the {}", words.noun), std::string(words.nothing));
}

/// Where the verified lines must end: behind the last newline, or before a last line with a hole in it. A
/// crash can leave the file's new length without all of its new bytes; those read as NUL, which no line has.
std::size_t end_of_whole_lines(std::string_view bytes) {
  const auto last = bytes.rfind('\n');
  if (last == std::string_view::npos) return 0;
  if (last + 1 != bytes.size()) return last + 1;
  const std::size_t begin = bytes.substr(0, last).rfind('\n') + 1;  // npos + 1 = 0
  return bytes.find('\0', begin) == std::string_view::npos ? bytes.size() : begin;
}

}  // namespace

/// An exclusive flock(2), held until destruction; the kernel drops it with the process. The lock's file
/// stays behind, on purpose: deleting it would let two processes lock two files of the same name. A lock
/// whose file was deleted meanwhile is noticed when it is gained, and the file of that name locked instead.
class Book::Lock {
 public:
  /// Waits up to `deadline`; a heartbeat every tenth of a second, or more often, while another process holds
  /// it. @throws CommError naming the holder, IoError.
  Lock(std::filesystem::path file, const BookWords& words, std::chrono::milliseconds deadline,
       const Heartbeat& heartbeat)
      : file_(std::move(file)), words_(words), fd_(-1) {
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
  ~Lock() {
    const WatchedStep step("unlocking", file_);
    static_cast<void>(fd_.close());
  }

 private:
  void open() {
    const WatchedStep step("opening the lock", file_);
    // As public as the user's other files: those who share a book share its lock. Never through a link.
    fd_ = FileDescriptor(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd_.get() < 0) fail(fmt::format("open the {}'s lock", words_.noun), file_, errno, words_.nothing);
  }

  void wait_until(std::chrono::steady_clock::time_point end, std::chrono::milliseconds deadline,
                  const Heartbeat& heartbeat) const {
    auto pause = std::chrono::milliseconds(1);
    // A network file system may ask its server, and wait for it.
    const auto lock = [&] {
      const WatchedStep step("locking", file_);
      return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    };
    for (int error = lock(); error != 0; error = lock()) {
      if (error == EINTR) continue;
      if (error != EWOULDBLOCK) fail("lock", file_, error, words_.nothing);
      named_step(fmt::format("{}.wait", words_.noun).c_str());
      if (heartbeat) heartbeat();
      if (std::chrono::steady_clock::now() >= end) {
        throw CommError(
            fmt::format("{}: '{}' is held by {}, and {:.3g} s of waiting were not enough. {}: wait for that "
                        "one, or end it if it hangs (its lock ends with it). {}",
                        words_.in_use, file_.string(), holder(fd_.get(), file_),
                        std::chrono::duration<double>(deadline).count(), words_.turns, words_.nothing));
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::milliseconds(100));
    }
  }

  std::filesystem::path file_;
  const BookWords words_;
  FileDescriptor fd_;
};

std::string with_own_hash(std::string line) {
  line.pop_back();
  const std::string hash = to_hex(sha256(PublicBytes(line)));
  return std::move(line.append(kHashKey).append(hash).append("\"}"));
}

void demand(bool holds, const char* problem) {
  if (!holds) throw std::invalid_argument(problem);
}

void require_own_hash(std::string_view line) {
  demand(line.size() <= kMaxBookLine, "a line far longer than any that muffle writes");
  const std::size_t tail = kHashKey.size() + 64 + 2;
  demand(line.size() > tail, "a line too short to be one of muffle's");
  const std::string_view body = line.substr(0, line.size() - tail);
  demand(line.substr(body.size(), kHashKey.size()) == kHashKey && line.substr(line.size() - 2) == "\"}",
         "a line that does not end with its hash");
  demand(to_hex(sha256(PublicBytes(body))) == line.substr(body.size() + kHashKey.size(), 64),
         "a line that does not have the hash that it states: it was changed");
}

void require_continues(const Chain& chain, std::uint64_t sequence, std::string_view previous) {
  demand(previous == chain.head, "a line that does not continue the one before it: the chain is broken");
  demand(sequence == chain.lines, "a line that is out of sequence");
}

void read_chain(std::string_view bytes, Chain& chain,
                const std::function<void(std::string_view line)>& each) {
  const std::size_t end = end_of_whole_lines(bytes);
  std::size_t at = 0;
  while (at < end) {
    const std::size_t newline = bytes.find('\n', at);
    const std::string_view line = bytes.substr(at, newline - at);
    each(line);
    chain.head = to_hex(sha256(PublicBytes(line)));
    ++chain.lines;
    at = newline + 1;
  }
  // A book is created together with its first line.
  demand(chain.lines > 0, "no whole line at all");
  chain.good_bytes = end;
  chain.torn = std::string(bytes.substr(end));
}

void create_book(const std::filesystem::path& file, const BookWords& words, std::string_view line) {
  const std::filesystem::path fresh = beginning_of(file);
  write_file_atomically(fresh, std::string(line) + "\n");
  // A rename would replace a book, and with it all that was ever written down; a link never does.
  int linked = 0;
  {
    const WatchedStep step("creating", file);
    linked = ::link(fresh.c_str(), file.c_str()) == 0 ? 0 : errno;
    ::unlink(fresh.c_str());
  }
  const std::string consequence = fmt::format("No {} was created. {}", words.noun, words.nothing);
  if (linked != 0 && linked != EEXIST) {
    fail(fmt::format("create, by a hard link, the {}", words.noun), file, linked,
         fmt::format("{} If this file system has no hard links, put the {} on another one.", consequence,
                     words.noun));
  }
  if (const int error = sync_folder_of(file); error != 0)
    fail("sync the folder of", file, error, consequence);
}

Book::Book(std::filesystem::path file, const BookWords& words, const std::function<std::string()>& first_line,
           std::chrono::milliseconds deadline, const Heartbeat& heartbeat)
    : file_(std::move(file)), words_(words) {
  if (!book_is_there(file_, words_)) ensure_writable_folder(file_.parent_path());
  lock_ = std::make_unique<Lock>(file_.string() + ".lock", words_, deadline, heartbeat);
  created_ = !book_is_there(file_, words_);
  if (created_) create_book(file_, words_, first_line());
  require_one_name(file_, words_);
}
Book::Book(Book&&) noexcept = default;
Book::~Book() = default;

void Book::append(std::uint64_t size, std::string_view line) const {
  if (size + line.size() + 1 > kMaxBook) {
    throw IoError(
        fmt::format("The {} '{}' is full: with one line more it would exceed the {} bytes that its "
                    "readers accept. Nothing was written. {}",
                    words_.noun, file_.string(), kMaxBook, words_.nothing));
  }
  const std::string appending = fmt::format("append to the {}", words_.noun);
  const WatchedStep step("appending to", file_);
  const FileDescriptor fd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  std::string consequence = fmt::format("The line was not added to the {}.", words_.noun);
  if (fd.get() < 0) fail(appending, file_, errno, consequence);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    fail(fmt::format("look at the {}", words_.noun), file_, errno, consequence);
  if (static_cast<std::uint64_t>(status.st_size) != size) {
    throw ProtocolError(fmt::format(
        "The {0} '{1}' has {2} bytes instead of {3}: somebody wrote to it while this process held its lock. "
        "Locks do not seem to work on this file system: put the {0} on another one. {4}",
        words_.noun, file_.string(), status.st_size, size, consequence));
  }
  std::string text(line);
  text += '\n';
  int error = write_all(fd.get(), text);
  if (error == 0) error = sync_file(fd.get());
  if (error == 0) error = sync_folder_of(file_);
  if (error != 0) {
    // Best effort: what cannot be cut off now is mended, and counted, by whoever opens the book next.
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) == 0) {
      (void)sync_file(fd.get());
    } else {
      consequence =
          fmt::format("Part of the line, or all of it, may be in the {}: {}.", words_.noun, words_.half);
    }
    fail(appending, file_, error, consequence);
  }
}

void Book::rewrite(std::string_view text) const { write_file_atomically(file_, text); }

std::string today() {
  return fmt::format("{:%FT00:00:00Z}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return storable(name.data());
}

std::string storable(const std::string& text) {
  using Json = nlohmann::ordered_json;
  const std::string dumped = Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return printable(Json::parse(dumped).get<std::string>());
}

}  // namespace muffle
