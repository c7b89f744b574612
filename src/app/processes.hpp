// Processes of this very program, as muffle simulate starts them: none outlives it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace muffle::app {

/// Runs one process for each command line (without the program's name), as many at once as there are cores.
/// Their standard output is left out, their errors are shown. All that were started are awaited, whatever
/// fails; after a failure none is started.
/// @param what  for messages  @param deadline_s  how long one may take: then it is ended
/// @throws Error  with the first exit code that is not 0; CommError  one did not end in time; IoError.
void run_all(const std::string& what, const std::vector<std::vector<std::string>>& commands,
             double deadline_s);

/// `muffle coordinator serve`, while the object lives.
class ServerProcess {
 public:
  /// Waits until it says where it listens.
  /// @param words  its command line, without the program's name
  /// @param log    gets a line for every message that it takes, and its errors
  /// @throws CommError  it does not say so; IoError.
  ServerProcess(const std::vector<std::string>& words, const std::string& log, double deadline_s);
  /// Tells it to stop, and waits; ends it if it does not.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }

 private:
  void end() noexcept;

  pid_t child_ = 0;
  int output_ = -1;  ///< what it says
  std::string address_;
};

}  // namespace muffle::app
