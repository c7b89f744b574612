#include "peer_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace muffle::comm {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

/// -1 if the kernel is too old or refuses.
int open_process(int pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); }

/// Equal for two processes that see each other under the same process numbers.
std::string process_space() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space {};
  if (boot.empty() || ::stat("/proc/self/ns/pid", &space) != 0) return {};
  return fmt::format("{}/{}", boot, static_cast<unsigned long long>(space.st_ino));
}

}  // namespace

std::string PeerWatch::introduction() { return fmt::format("{} {}", ::getpid(), process_space()); }

PeerWatch::PeerWatch(const std::vector<std::string>& introductions, int my_rank)
    : ended_(introductions.size(), false) {
  const std::string space = process_space();
  if (space.empty()) return;
  for (std::size_t r = 0; r < introductions.size(); ++r) {
    const std::string& text = introductions[r];
    const std::size_t blank = text.find(' ');
    if (static_cast<int>(r) == my_rank || blank == std::string::npos || text.substr(blank + 1) != space)
      continue;
    int pid = 0;
    if (std::from_chars(text.data(), text.data() + blank, pid).ec != std::errc() || pid <= 0) continue;
    const int descriptor = open_process(pid);
    if (descriptor >= 0) running_.push_back({static_cast<int>(r), descriptor});
  }
}

PeerWatch::~PeerWatch() {
  for (const Peer& peer : running_) ::close(peer.descriptor);
}

void PeerWatch::look() {
  const auto now = Clock::now();
  if (running_.empty() || now < next_look_) return;
  next_look_ = now + kLookEvery;
  std::vector<pollfd> asked;
  for (const Peer& peer : running_) asked.push_back({peer.descriptor, POLLIN, 0});
  if (::poll(asked.data(), asked.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if ((asked[i].revents & POLLIN) == 0) continue;
    ended_[static_cast<std::size_t>(running_[i].rank)] = true;
    ::close(running_[i].descriptor);
    running_[i].descriptor = -1;
  }
  std::erase_if(running_, [](const Peer& peer) { return peer.descriptor < 0; });
}

bool PeerWatch::has_ended(int rank) {
  look();
  return ended_.at(static_cast<std::size_t>(rank));
}

bool PeerWatch::any_has_ended() {
  look();
  return std::find(ended_.begin(), ended_.end(), true) != ended_.end();
}

}  // namespace muffle::comm
