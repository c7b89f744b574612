#include "muffle/crypto/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::crypto {
namespace {

[[noreturn]] void fail(const char* action, const std::string& what, const std::filesystem::path& path,
                       int error, const char* hint = "Check the folder's permissions and the disk.") {
  throw IoError(
      fmt::format("cannot {} {} '{}': {}. {}", action, what, path.string(), std::strerror(error), hint));
}

}  // namespace

SecretText::~SecretText() { sodium_memzero(text.data(), text.size()); }

void write_secret_file(const std::filesystem::path& path, std::string_view text, const std::string& what) {
  const WatchedStep step("writing", path);
  // O_EXCL: never through a link that somebody else put there.
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    if (errno == EEXIST)
      fail("create", what, path, EEXIST, "A key is never overwritten: choose another folder or name.");
    fail("create", what, path, errno);
  }
  int error = write_all(fd.get(), text);
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (fd.close() != 0 && error == 0) error = errno;
  if (error != 0) {
    ::unlink(path.c_str());
    fail("write", what, path, error);
  }
}

void replace_secret_file(const std::filesystem::path& path, std::string_view text, const std::string& what) {
  erase_secret_file(path, what);
  write_secret_file(path, text, what);
  if (const int error = sync_folder_of(path); error != 0) fail("sync the folder of", what, path, error);
}

void ensure_private_folder(const std::filesystem::path& folder) {
  const WatchedStep step("making", folder);
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno != EEXIST) fail("make", "the folder", folder, errno);
    return;
  }
  if (const int error = sync_folder_of(folder); error != 0)
    fail("sync the folder of", "the folder", folder, error);
}

void read_secret_file(const std::filesystem::path& path, const std::string& what, SecretText& into,
                      std::size_t most) {
  InputFile in(path, "a secret key", "Check its path and your permissions.");
  if ((in.mode() & 077) != 0) {
    throw ConfigError(
        fmt::format("others than its owner may use {} '{}' (mode {:o}): chmod 600 it, and make a new key if "
                    "somebody may have read it.",
                    what, path.string(), in.mode() & 0777));
  }
  if (in.size() > most)
    throw ConfigError(
        fmt::format("{} '{}' has more than {} bytes: it is no key.", what, path.string(), most));
  into.text.resize(in.size());
  std::size_t done = 0;
  for (std::size_t n = 1; n > 0 && done < into.text.size(); done += n)
    n = in.read(std::as_writable_bytes(std::span(into.text)).subspan(done));
  into.text.resize(done);
}

void erase_secret_file(const std::filesystem::path& path, const std::string& what) {
  const WatchedStep step("erasing", path);
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 && errno == ENOENT) return;
  if (fd.get() < 0) fail("open", what, path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail("look at", what, path, errno);
  if (!S_ISREG(status.st_mode)) fail("erase", what, path, EINVAL, "It is no file.");
  int error = write_all(fd.get(), std::string(static_cast<std::size_t>(status.st_size), '0'));
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (error == 0 && ::unlink(path.c_str()) != 0) error = errno;
  if (error == 0) error = sync_folder_of(path);
  if (error != 0) fail("erase", what, path, error);
}

}  // namespace muffle::crypto
