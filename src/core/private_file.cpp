#include "muffle/core/private_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

void remove_leftover(const std::filesystem::path& path) {
  std::error_code none;
  std::filesystem::remove(path, none);
}

}  // namespace

void write_private_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path beside = path.parent_path() / ("." + path.filename().string() + ".private.tmp");
  {
    const WatchedStep step("removing", beside);
    remove_leftover(beside);  // of a job that was killed
  }
  const WatchedStep step("writing", beside);
  // New, so that it is no link and nobody has it open yet.
  FileDescriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  int error = file.get() < 0 ? errno : write_all(file.get(), text);
  if (error == 0 && (::fsync(file.get()) != 0 || file.close() != 0)) error = errno;
  if (error != 0) {
    remove_leftover(beside);
    throw IoError("cannot write '" + path.string() + "': " + std::strerror(error) + ".");
  }
  try {
    move_into_place(beside, path);
  } catch (const IoError&) {
    remove_leftover(beside);
    throw;
  }
}

}  // namespace muffle
