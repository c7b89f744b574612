#include "shared_segments.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::comm {

std::vector<std::filesystem::path> mapped_segments() {
  constexpr std::string_view kGone = " (deleted)";
  std::vector<std::filesystem::path> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, permissions, offset, device, inode, path;
    fields >> range >> permissions >> offset >> device >> inode;
    std::getline(fields >> std::ws, path);
    const std::filesystem::path file(path);
    const std::string name = file.filename().string();
    // Open MPI 4 calls its transport vader, Open MPI 5 sm.
    if (!name.starts_with("vader_segment.") && !name.starts_with("sm_segment.")) continue;
    if (path.ends_with(kGone) || !permissions.ends_with('s')) continue;
    if (std::find(found.begin(), found.end(), file) == found.end()) found.push_back(file);
  }
  return found;
}

bool unname(const std::filesystem::path& segment) {
  const std::filesystem::path empty = segment.string() + ".of-" + std::to_string(::getpid());
  const WatchedStep step("taking away the name of", segment);
  const FileDescriptor file(::open(empty.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return false;
  std::error_code failed;
  std::filesystem::rename(empty, segment, failed);
  if (!failed) return true;
  std::filesystem::remove(empty, failed);
  return false;
}

}  // namespace muffle::comm
