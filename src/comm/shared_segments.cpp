#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "mpi_comm.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::comm {
namespace {

/// The files of shared memory that this process has mapped for Open MPI's messages within a host and that
/// still have a name: its own and its peers' of this job, never another job's.
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

/// Takes the name from a segment and gives it to an empty file, which Open MPI removes at the end as it would
/// the segment (without any it complains). The memory stays for whoever has mapped it, and ends with them.
/// @returns whether it has no name any more; a segment for which that fails is left as it is.
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

}  // namespace

/// What ranks of one host send one another goes through files of shared memory, which would outlive ranks
/// that are all killed at once, with sums of records in them. Once every rank has mapped them all, nobody
/// needs their names: without names they end with the last rank, however it ends.
void MpiComm::hide_segments(MPI_Comm local) {
  const std::vector<std::filesystem::path> segments = mapped_segments();
  int ready = segments.size() >= static_cast<std::size_t>(local_size_) ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, local, &request), "MPI_Iallreduce");
  wait_or_throw(request, "setting up communication", options_.deadline, options_.stop_within);
  if (segments.empty()) return;  // another transport, or done already
  bool hidden = ready != 0;
  if (ready != 0)
    for (const std::filesystem::path& file : segments) hidden = unname(file) && hidden;
  if (hidden) return;
  spdlog::warn(
      "MPI keeps messages between the ranks of host {} in '{}' and the like, and their names could not be "
      "taken away: if the job is killed, remove these files",
      host_, segments.front().string());
}

}  // namespace muffle::comm
