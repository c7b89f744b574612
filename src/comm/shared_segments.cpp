#include "shared_segments.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace muffle::comm
