#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "muffle/core/files.hpp"
#include "muffle/core/heartbeat.hpp"

namespace muffle::privacy::ledger {

/// An exclusive flock(2), held until destruction; the kernel drops it with the process. The lock's file
/// stays behind, on purpose: deleting it would let two processes lock two files of the same name. A lock
/// whose file was deleted meanwhile is noticed when it is gained, and the file of that name locked instead.
class Lock {
 public:
  /// Waits up to `deadline`; a heartbeat every tenth of a second, or more often, while another process holds
  /// it. @throws CommError naming the holder, IoError.
  Lock(std::filesystem::path file, std::chrono::milliseconds deadline, const Heartbeat& heartbeat = {});
  ~Lock();

 private:
  void open();
  void wait_until(std::chrono::steady_clock::time_point end, std::chrono::milliseconds deadline,
                  const Heartbeat& heartbeat) const;

  std::filesystem::path file_;
  FileDescriptor fd_;
};

/// Creates `file` with this line and a newline, complete or absent, and syncs its folder. A file of that name
/// that is there already, even one that this machine's cache of a network folder has not seen yet, is left as
/// it is. Under the lock. @throws IoError.
void create_with_line(const std::filesystem::path& file, std::string_view line);

/// Under the lock, of a file that is there. The lock is the name's: a second hard link would be written under
/// another. What a crash in create_with_line() left is tidied away. @throws ProtocolError, IoError.
void require_one_name(const std::filesystem::path& file);

/// Appends `line` and a newline behind the first `size` bytes and syncs file and folder. If that fails, the
/// file is cut back to `size` bytes.
/// @throws ProtocolError  the file is not `size` bytes long: somebody wrote to it in spite of the lock.
/// @throws IoError naming the file and the system's reason.
void append_line(const std::filesystem::path& file, std::uint64_t size, std::string_view line);

}  // namespace muffle::privacy::ledger
