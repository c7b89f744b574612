// System calls that fail or kill on demand. Linked into test programs alone (muffle_faulty_system() in
// CMake), with the linker's --wrap: every call to write() and so on that muffle's libraries make ends up
// here, and the product has none of it.
//   MUFFLE_KILL_POINT=STEP:ACTION:SEED   at the STEP-th call (from 1), at the first CALL@FILE, such as
//                                        rename@release.mfl, or at a place that named_step() names, such as
//                                        train.step; NAME#N: at the N-th of that name; do ACTION:
//     kill-before, kill-after   SIGKILL around the call
//     abort-before              SIGABRT, which dumps core where that is allowed
//     kill-job                  SIGKILL for mpiexec and every rank: nobody is left to tidy up
//     short-kill                half of a write, then SIGKILL
//     partial                   half of a write, reported as such: the caller must go on
//     full                      half of a write, then ENOSPC for this and every later write
//     power-cut                 SIGKILL, and what was never synced is lost at random: new names vanish,
//                               renames are undone, files lose or zero their ends
//     term, usr1                SIGTERM or SIGUSR1 to this process
//     wait                      makes the file MUFFLE_WAIT_FILE and goes on when somebody removed it; when
//                               told to stop meanwhile (SIGTERM, SIGUSR1) it makes MUFFLE_WAIT_FILE.told
//   MUFFLE_KILL_RANK=R                   only Open MPI's rank R does so
//   MUFFLE_LIST_STEPS=FILE               writes the steps to FILE at exit, a line each: CALL@FILE
//   MUFFLE_LOSE_SYNCS=1                  fsync promises and does nothing (a lying disk): tests must notice
//   MUFFLE_MARK_DRAWS=FOLDER:LEDGER      every time that noise takes a block of entropy, a file
//                                        FOLDER/<charge>.<process>.<count> appears first; the charge is the
//                                        one that the ledger has open on the disk at that moment. A draw of a
//                                        hundred numbers takes one block: two files of a charge are two
//                                        draws.
// fsync never really syncs here, for speed: only power-cut can lose data, and it knows what was synced.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
ssize_t __real_write(int fd, const void* bytes, size_t n);
int __real_ftruncate(int fd, off_t size);
int __real_rename(const char* from, const char* to);
int __real_mkostemp(char* name, int flags);
int __real_link(const char* from, const char* to);
int __real_unlink(const char* name);
void __real_randombytes_buf(void* out, size_t n);
}

namespace {

using Path = std::filesystem::path;

struct Rename {
  Path from, to;
  std::optional<std::string> replaced;  // what `to` held before
};

std::string contents(const Path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Path path_of(int fd) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
}

/// FILE as the tests name it: temporary names as what they will be renamed to.
std::string name_of(const Path& path) {
  std::string name = path.filename().string();
  const std::size_t end = name.find(".tmp.");
  return end == std::string::npos || name[0] != '.' ? name : name.substr(1, end - 1);
}

void make_file(const char* path) { ::close(::open(path, O_CREAT | O_WRONLY, 0644)); }

/// While it lives, a signal that tells this process to stop makes a file besides.
class Told {
 public:
  explicit Told(const std::string& file) {
    file_ = file;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    for (const int signal : kSignals) ::sigaction(signal, &action, &before_[signal]);
  }
  ~Told() {
    for (const int signal : kSignals) ::sigaction(signal, &before_[signal], nullptr);
  }
  Told& operator=(Told&&) = delete;

 private:
  static void note(int signal) {
    const auto before = before_[signal].sa_handler;
    if (before != SIG_DFL && before != SIG_IGN) before(signal);
    make_file(file_.c_str());
  }
  static constexpr int kSignals[]{SIGTERM, SIGUSR1};
  static inline struct sigaction before_[NSIG];
  static inline std::string file_;
};

/// The charge whose INTENT is the ledger's last line, or whose ROUND says that its noise is drawn: then with
/// the round's number behind it; else 32 letters that are no charge.
std::string open_charge(const Path& ledger) {
  std::string lines = contents(ledger);
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  const std::string last = lines.substr(lines.rfind('\n') + 1), key = "\"charge\":\"";
  const std::size_t at = last.find(key);
  if (at == std::string::npos) return std::string(32, 'x');
  const std::string charge = last.substr(at + key.size(), 32), round = "\"round\":";
  if (last.find("\"INTENT\"") != std::string::npos) return charge;
  const std::size_t number = last.find(round);
  if (number == std::string::npos || last.find("\"kept_sha256\":null") == std::string::npos)
    return std::string(32, 'x');
  return charge + "-" + last.substr(number + round.size(), 1);
}

class Faults {
 public:
  Faults() {
    const char* const only = std::getenv("MUFFLE_KILL_RANK");
    const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    const bool mine = only == nullptr || std::string(only) == (rank == nullptr ? "0" : rank);
    if (const char* setting = std::getenv("MUFFLE_KILL_POINT"); setting != nullptr && mine) {
      std::istringstream in(setting);
      std::string step, seed;
      std::getline(in, step, ':');
      std::getline(in, action_, ':');
      std::getline(in, seed);
      if (step.find_first_not_of("0123456789") == std::string::npos) {
        at_ = std::stol(step);
      } else {
        const std::size_t count = step.find('#');
        at_name_ = step.substr(0, count);
        if (count != std::string::npos) at_count_ = std::stol(step.substr(count + 1));
      }
      random_.seed(std::stoul(seed));
      static constexpr std::string_view kActions[]{"abort-before", "kill-job", "kill-before", "kill-after",
                                                   "short-kill",   "partial",  "full",        "power-cut",
                                                   "term",         "usr1",     "wait"};
      if (std::ranges::find(kActions, action_) == std::end(kActions)) std::abort();
    }
    lose_syncs_ = std::getenv("MUFFLE_LOSE_SYNCS") != nullptr;
    if (const char* setting = std::getenv("MUFFLE_MARK_DRAWS")) {
      const std::string both = setting;
      draws_ = both.substr(0, both.find(':'));
      ledger_ = both.substr(both.find(':') + 1);
    }
  }
  ~Faults() {
    if (const char* file = std::getenv("MUFFLE_LIST_STEPS")) std::ofstream(file) << list_;
  }

  /// The action for the next step. A power cut and kill-before end the process here.
  std::string next(const char* call, const Path& path) {
    const std::string name = std::string(call) + "@" + name_of(path);
    list_ += name + "\n";
    if (++step_ != at_ && !is_named(name)) return "";
    go_on_after();
    if (action_ == "abort-before") std::abort();
    if (action_ == "kill-job") kill_job();
    if (action_ == "kill-before") kill();
    if (action_ == "power-cut") cut_power();
    if (action_ == "full") full_ = true;
    return action_;
  }
  /// A place that named_step() names: no call, and not counted as one.
  void pass(const std::string& name) {
    if (!is_named(name)) return;
    go_on_after();
    if (action_ == "kill-job") kill_job();
    if (action_ == "kill-before" || action_ == "kill-after") kill();
  }
  void kill_after(std::string_view action) {
    if (action == "kill-after" || action == "short-kill") kill();
  }
  bool full() const { return full_; }

  void mark_draw() {
    if (draws_.empty()) return;
    const Path mark =
        draws_ / (open_charge(ledger_) + "." + std::to_string(::getpid()) + "." + std::to_string(++marks_));
    const int fd = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0) std::abort();
    ::close(fd);
  }

  /// Before a file's first change: what it has now is on the disk.
  void touch(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
      synced_.try_emplace(path_of(fd), status.st_size);
  }
  void created(const Path& path) { new_names_.push_back(path); }
  void linked(const Path& from, const Path& to) {
    if (const auto size = synced_.find(from); size != synced_.end()) synced_[to] = size->second;
    new_names_.push_back(to);
  }
  void removed(const Path& path) {
    synced_.erase(path);
    std::erase(new_names_, path);
  }
  void renamed(Rename rename) {
    const auto size = synced_.find(rename.from);
    if (size != synced_.end()) {
      synced_[rename.to] = size->second;
      synced_.erase(rename.from);
    }
    std::erase(new_names_, rename.from);
    renames_.push_back(std::move(rename));
  }
  void synced(int fd) {
    struct stat status {};
    if (lose_syncs_ || ::fstat(fd, &status) != 0) return;
    const Path path = path_of(fd);
    if (S_ISDIR(status.st_mode)) {
      std::erase_if(new_names_, [&](const Path& name) { return name.parent_path() == path; });
      std::erase_if(renames_, [&](const Rename& rename) { return rename.to.parent_path() == path; });
    } else {
      synced_[path] = status.st_size;
    }
  }

 private:
  [[noreturn]] static void kill() {
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }

  /// On one host mpiexec itself is the ranks' parent.
  [[noreturn]] static void kill_job() {
    if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) std::abort();
    const pid_t launcher = ::getppid();
    std::vector<pid_t> job{launcher};
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(process.path().filename().c_str());
      const std::string status = pid > 0 ? contents(process.path() / "status") : "";
      if (pid != ::getpid() &&
          status.find("\nPPid:\t" + std::to_string(launcher) + "\n") != std::string::npos)
        job.push_back(pid);
    }
    for (const pid_t pid : job) ::kill(pid, SIGKILL);
    kill();
  }

  [[noreturn]] void cut_power() {
    for (const auto& [path, size] : synced_) lose_end(path, static_cast<std::uintmax_t>(size));
    for (auto rename = renames_.rbegin(); rename != renames_.rend(); ++rename) {
      if (random_() % 2) continue;
      std::error_code ignored;
      std::filesystem::remove(rename->to, ignored);
      if (rename->replaced) std::ofstream(rename->to, std::ios::binary) << *rename->replaced;
    }
    for (const Path& name : new_names_) {
      std::error_code ignored;
      if (random_() % 2) std::filesystem::remove(name, ignored);
    }
    kill();
  }

  void lose_end(const Path& path, std::uintmax_t size) {
    std::error_code error;
    const auto now = std::filesystem::file_size(path, error);
    if (error || now <= size) return;
    const auto kept = size + random_() % (now - size + 1);
    std::filesystem::resize_file(path, kept, error);
    if (random_() % 2)
      std::filesystem::resize_file(path, now, error);  // the length arrived, the bytes did not
  }

  bool is_named(const std::string& name) { return !at_name_.empty() && name == at_name_ && --at_count_ == 0; }

  void go_on_after() const {
    if (action_ == "term") ::raise(SIGTERM);
    if (action_ == "usr1") ::raise(SIGUSR1);
    if (action_ != "wait") return;
    const char* const file = std::getenv("MUFFLE_WAIT_FILE");
    if (file == nullptr) std::abort();
    const Told told(std::string(file) + ".told");
    make_file(file);
    while (::access(file, F_OK) == 0) ::usleep(2000);
  }

  long step_ = 0, at_ = 0, at_count_ = 1, marks_ = 0;
  std::string action_, at_name_, list_;
  Path draws_, ledger_;
  bool full_ = false, lose_syncs_ = false;
  std::mt19937_64 random_;
  std::map<Path, off_t> synced_;
  std::vector<Path> new_names_;
  std::vector<Rename> renames_;
};

Faults& faults() {
  static Faults all;
  return all;
}

int no_space() {
  errno = ENOSPC;
  return -1;
}

/// A call at its step. @param grows  what a full disk refuses
template <class Call>
int at_step(const char* name, const Path& path, bool grows, const Call& call) {
  const std::string action = faults().next(name, path);
  if (grows && action == "full") return no_space();
  const int result = call();
  faults().kill_after(action);
  return result;
}

}  // namespace

extern "C" {

ssize_t __wrap_write(int fd, const void* bytes, size_t n) {
  if (fd <= 2) return __real_write(fd, bytes, n);
  faults().touch(fd);
  const bool was_full = faults().full();
  const std::string action = faults().next("write", path_of(fd));
  if (was_full) return no_space();
  const bool half = action == "short-kill" || action == "partial" || action == "full";
  const ssize_t done = __real_write(fd, bytes, half ? std::max<size_t>(1, n / 2) : n);
  faults().kill_after(action);
  return done;
}

int __wrap_fsync(int fd) {
  return at_step("fsync", path_of(fd), true, [&] {
    faults().synced(fd);
    return 0;
  });
}

int __wrap_ftruncate(int fd, off_t size) {
  faults().touch(fd);
  return at_step("ftruncate", path_of(fd), false, [&] { return __real_ftruncate(fd, size); });
}

int __wrap_rename(const char* from, const char* to) {
  return at_step("rename", to, false, [&] {
    Rename rename{from, to, std::nullopt};
    if (std::filesystem::exists(rename.to)) rename.replaced = contents(rename.to);
    const int result = __real_rename(from, to);
    if (result == 0) faults().renamed(std::move(rename));
    return result;
  });
}

int __wrap_mkostemp(char* name, int flags) {
  return at_step("mkostemp", name, true, [&] {
    const int fd = __real_mkostemp(name, flags);
    if (fd >= 0) faults().created(path_of(fd));
    return fd;
  });
}

int __wrap_link(const char* from, const char* to) {
  return at_step("link", to, true, [&] {
    const int result = __real_link(from, to);
    if (result == 0) faults().linked(from, to);
    return result;
  });
}

int __wrap_unlink(const char* name) {
  return at_step("unlink", name, false, [&] {
    const int result = __real_unlink(name);
    if (result == 0) faults().removed(name);
    return result;
  });
}

void __wrap__ZN6muffle10named_stepEPKc(const char* name) { faults().pass(name); }

void __wrap_randombytes_buf(void* out, size_t n) {
  // Keys, nonces and ids are shorter than this, the sampler's blocks longer.
  constexpr size_t kShortestBlock = 1024;
  if (n >= kShortestBlock) faults().mark_draw();
  __real_randombytes_buf(out, n);
}
}
