#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace muffle::round {

/// A step in a process of its own (step_driver.cpp). What it says goes to WORLD/said.
/// @param environment  of faulty_system.cpp. @param patience_s  then SIGALRM ends it; 0: never
/// @returns its exit code, or minus the signal.
inline int step_process(const std::string& role, const std::filesystem::path& world, std::uint64_t now,
                        const std::map<std::string, std::string>& environment, unsigned patience_s = 0) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int fd = ::open((world / "said").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::alarm(patience_s);
    ::execl(MUFFLE_STEP_DRIVER, MUFFLE_STEP_DRIVER, role.c_str(), world.c_str(), std::to_string(now).c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace muffle::round
