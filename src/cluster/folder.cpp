#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "facts.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::cluster {
namespace {

namespace fs = std::filesystem;

/// A file whose system calls may fail. A folder that never answers, such as of NFS without its lock server,
/// is named by the watchdog, which ends the doctor.
class Opened {
 public:
  Opened(fs::path path, int flags)
      : path_(std::move(path)),
        file_(tried("opening", [&] { return ::open(path_.c_str(), flags | O_CLOEXEC, 0600); })) {}
  ~Opened() {
    if (ok()) tried("closing", [&] { return file_.close(); });
  }
  Opened& operator=(Opened&&) = delete;
  bool ok() const { return file_.get() >= 0; }
  bool lock() const {
    return ok() && tried("locking", [&] { return ::flock(file_.get(), LOCK_EX | LOCK_NB); }) == 0;
  }
  bool sync() const {
    return ok() && tried("syncing", [&] { return ::fsync(file_.get()); }) == 0;
  }

 private:
  template <class Call>
  int tried(const char* doing, const Call& call) const {
    const WatchedStep step(doing, path_);
    return call();
  }

  fs::path path_;
  FileDescriptor file_;
};

void remove_file(const fs::path& file) {
  const WatchedStep step("removing", file);
  std::error_code nothing_to_do;
  fs::remove(file, nothing_to_do);
}

/// Type of the file system under `folder`: the longest mount point above it, as the kernel lists them.
std::string filesystem_of(const fs::path& folder) {
  const WatchedStep step("looking at", folder);
  std::error_code ec;
  const std::string path = fs::canonical(folder, ec).string();
  std::ifstream mounts("/proc/self/mounts");
  std::string type = "unknown", device, point, kind, rest;
  std::size_t longest = 0;
  for (; mounts >> device >> point >> kind && std::getline(mounts, rest);) {
    const bool above = point == "/" || path == point || path.rfind(point + "/", 0) == 0;
    if (above && point.size() >= longest) {
      longest = point.size();
      type = kind;
    }
  }
  return type;
}

/// What this machine alone can tell. Removes what it makes.
void try_locally(const fs::path& folder, const std::string& mark, int rank, FolderFacts& f) {
  const fs::path file = folder / (mark + "-" + std::to_string(rank));
  try {
    ensure_writable_folder(folder);
    write_file_atomically(file, std::string_view("first"));
    write_file_atomically(file, std::string_view("second"));
    f.renames = read_file(file) == "second";
  } catch (const Error& e) {
    f.error = e.what();
    return;
  }
  f.exclusive = !Opened(file, O_WRONLY | O_CREAT | O_EXCL).ok();
  f.syncs_file = Opened(file, O_WRONLY).sync();
  f.syncs_folder = Opened(folder, O_RDONLY | O_DIRECTORY).sync();
  {
    const Opened first(file, O_RDWR), second(file, O_RDWR);
    f.locks = first.lock() && !second.lock();
  }
  remove_file(file);
  f.filesystem = filesystem_of(folder);
  struct statvfs space {};
  const WatchedStep step("asking for the free space of", folder);
  if (::statvfs(folder.c_str(), &space) == 0) f.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
}

/// A network file system may answer from a list of the folder that it fetched a while ago.
bool appears(const fs::path& file, double wait_s) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  for (;;) {
    if (Opened(file, O_RDONLY).ok()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    {
      const fs::path folder = file.parent_path();
      const WatchedStep step("listing", folder);
      std::error_code ec;
      for (fs::directory_iterator it(folder, ec); !ec && it != fs::directory_iterator(); it.increment(ec)) {
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

FolderFacts folder_facts(comm::HostComm& comm, const fs::path& folder, double wait_s) {
  FolderFacts f;
  f.path = folder.string();
  // A name that nobody had before: an old file must not look like rank 0's.
  std::random_device entropy;
  const std::string mark = comm::broadcast_text(
      comm, ".muffle-doctor-" + std::to_string((std::uint64_t{entropy()} << 32) | entropy()));
  try_locally(folder, mark, comm.rank(), f);

  const fs::path shared = folder / mark;
  std::unique_ptr<Opened> held;
  if (comm.is_root()) {
    held = std::make_unique<Opened>(shared, O_RDWR | O_CREAT | O_EXCL);
    f.sees_root = held->ok();
    f.respects_lock = held->lock() && held->sync();
  }
  comm.barrier();
  if (!comm.is_root()) {
    f.sees_root = appears(shared, wait_s);
    f.respects_lock = f.sees_root && !Opened(shared, O_RDWR).lock();
  }
  comm.barrier();
  if (comm.is_root()) {
    held.reset();
    remove_file(shared);
  }
  return f;
}

}  // namespace muffle::cluster
