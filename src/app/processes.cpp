#include "processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "muffle/core/error.hpp"

namespace muffle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{3};
/// A server that was told to stop closes what it has, which is on the disk already.
constexpr std::chrono::seconds kStopping{5};

/// @param output  becomes its standard output; negative: nobody reads it
/// @param errors  a file for its errors; null: they are shown
pid_t start(const std::vector<std::string>& words, int output, const char* errors) {
  std::vector<std::string> all{"muffle"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw IoError(fmt::format("cannot start a process: {}.", std::strerror(errno)));
  if (child > 0) return child;
  // Here nothing but system calls: other threads may have held locks. Whatever ends the parent ends it, too.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::kInternal));
  if (output < 0) output = ::open("/dev/null", O_WRONLY);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  if (errors != nullptr) {
    if (const int log = ::open(errors, O_WRONLY | O_CREAT | O_APPEND, 0644); log >= 0)
      ::dup2(log, STDERR_FILENO);
  }
  ::execv("/proc/self/exe", pointers.data());
  ::_exit(static_cast<int>(ExitCode::kIo));
}

/// @returns the exit code, as a shell has it. None: it is still there.
std::optional<int> ended(pid_t child) {
  int status = 0;
  const pid_t found = ::waitpid(child, &status, WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return std::nullopt;
  if (found < 0) throw IoError(fmt::format("cannot wait for a process: {}.", std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Running {
  pid_t child;
  Clock::time_point until;
};

}  // namespace

void run_all(const std::string& what, const std::vector<std::vector<std::string>>& commands,
             double deadline_s) {
  const auto deadline =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(deadline_s));
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Running> running;
  std::size_t next = 0;
  int failed = 0;
  bool late = false;
  while (!running.empty() || (next < commands.size() && failed == 0 && !late)) {
    while (running.size() < at_once && next < commands.size() && failed == 0 && !late)
      running.push_back({start(commands[next++], -1, nullptr), Clock::now() + deadline});
    std::erase_if(running, [&](const Running& one) {
      const std::optional<int> code = ended(one.child);
      if (!code && Clock::now() > one.until) {
        late = true;
        ::kill(one.child, SIGKILL);
      }
      if (code && failed == 0) failed = *code;
      return code.has_value();
    });
    if (!running.empty()) std::this_thread::sleep_for(kLook);
  }
  if (late)
    throw CommError(fmt::format("{} did not end within {} s, and was ended (--deadline).", what, deadline_s));
  if (failed != 0)
    throw Error(static_cast<ExitCode>(failed),
                fmt::format("{} ended with exit code {}: see above.", what, failed));
}

ServerProcess::ServerProcess(const std::vector<std::string>& words, const std::string& log,
                             double deadline_s) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError(fmt::format("no pipe: {}.", std::strerror(errno)));
  output_ = ends[0];
  try {
    child_ = start(words, ends[1], log.c_str());
  } catch (...) {
    ::close(ends[1]);
    end();
    throw;
  }
  ::close(ends[1]);
  const auto until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(deadline_s));
  std::string said;
  while (said.find('\n') == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd readable{output_, POLLIN, 0};
    char bytes[512];
    const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(std::min<long>(left, 1000))) : -1;
    if (ready == 0 || (ready < 0 && left > 0 && errno == EINTR)) continue;
    const ssize_t got = ready > 0 ? ::read(output_, bytes, sizeof bytes) : 0;
    if (got <= 0) {
      end();
      throw CommError("the server on this machine did not say where it listens: see " + log + ".");
    }
    said.append(bytes, static_cast<std::size_t>(got));
  }
  const std::size_t begin = said.find("http");
  address_ = said.substr(std::min(begin, said.size()));
  address_.resize(std::min(address_.find_first_of(" \n"), address_.size()));
}

ServerProcess::~ServerProcess() { end(); }

void ServerProcess::end() noexcept {
  if (child_ > 0) {
    ::kill(child_, SIGTERM);
    const auto until = Clock::now() + kStopping;
    int status = 0;
    bool gone = false;
    while (!gone && Clock::now() < until) {
      gone = ::waitpid(child_, &status, WNOHANG) != 0;
      if (!gone) std::this_thread::sleep_for(kLook);
    }
    if (!gone) {
      ::kill(child_, SIGKILL);
      while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
      }
    }
    child_ = 0;
  }
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

}  // namespace muffle::app
