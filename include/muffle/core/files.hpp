#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace muffle {

/// An open file, or none (negative); closed on destruction.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  /// @returns what close(2) does: an error of writing may only show here.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

/// @returns 0, or the system's error: then a part may be written.
int write_all(int fd, std::string_view bytes);
/// fsync of the folder that holds the file. @returns 0, or the system's error.
int sync_folder_of(const std::filesystem::path& file);

// What asks the system here is a WatchedStep (core/watchdog.hpp): a file system that never answers is named.

/// Opens a file for private lines at its end; makes it, and its folder, if there is none. From its first
/// moment this user alone may read it. What is there already must be a regular file of this user's, with one
/// name, in a folder of this user's: no link is followed to either, and nothing of somebody else's is written
/// to. @throws IoError.
FileDescriptor open_private_file(const std::filesystem::path& path);

/// A regular file, open for reading. Not thread-safe.
class InputFile {
 public:
  /// A FIFO or a device, which might never have anything to read, is refused at once.
  /// @param needed  "a record file", @param hint  "Check the path.": for messages. @throws IoError.
  InputFile(std::filesystem::path path, std::string_view needed, std::string_view hint);
  ~InputFile();

  /// Of the file as it was opened.
  std::uint64_t size() const { return size_; }
  /// Its permissions, of this very file.
  unsigned mode() const { return mode_; }

  /// @returns bytes read, as many as the system likes; 0 at the end. @throws IoError.
  std::size_t read(std::span<std::byte> out);
  /// The next read is so many bytes further on. @throws IoError.
  void skip(std::uint64_t bytes);

 private:
  std::filesystem::path path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
};

/// A file that is written piece by piece and is complete or absent: it has a temporary name in the same
/// folder until it is committed. Not thread-safe.
class NewFile {
 public:
  /// @throws IoError, as do the others, naming the path and the system's reason.
  explicit NewFile(std::filesystem::path path);
  /// Removes what was not committed.
  ~NewFile();

  void write(std::span<const std::byte> bytes);
  /// After the last byte: puts it in the place of a file that may be there.
  void commit();
  /// The same, but never in the place of another file. Where the file system has no hard links, a file of
  /// this name that comes at the very same moment is replaced. @returns whether the name was free.
  bool commit_if_new();
  /// What has been written lies here before the commit.
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  void finish();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty once it is in its place
  FileDescriptor fd_;
};

/// Renames a complete file or folder (fsync, rename, fsync of the new name's folder): after a power loss the
/// new name is there, whole, or not at all. A file of that name is replaced. @throws IoError.
void move_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

/// The same of a file, but never in the place of another one, as NewFile::commit_if_new(); it gets the
/// permissions of the user's other files. @returns whether the name was free; if not, nothing has changed.
bool move_if_new(const std::filesystem::path& from, const std::filesystem::path& to);

/// Writes a whole file as a NewFile. @throws IoError naming the path and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file. @throws IoError if it is missing, unreadable or larger than max_bytes.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{1} << 32);

/// Whether the file is there. What cannot be told is an error: it must not be taken for absent.
/// @param what  the file's name in the message, @param consequence  the message's end. @throws IoError.
bool is_there(const std::filesystem::path& file, const std::string& what, const std::string& consequence);

/// std::filesystem's functions, watched; they throw filesystem_error.
namespace watched {
bool exists(const std::filesystem::path& path);
/// Each file is a step of its own: many on a slow disk are no hang.
void remove_all(const std::filesystem::path& path);
/// The absolute path without links, of something that need not be there.
std::filesystem::path canonical(const std::filesystem::path& path);
}  // namespace watched

/// Creates the folder and its parents and proves that a file can be written in it. @throws IoError.
void ensure_writable_folder(const std::filesystem::path& folder);

/// Sets the times of a file, or of a folder and all that lies in it, of modification and of access each to
/// the beginning of its day, UTC: where when they were written or read would tell how many records there are.
/// As far as the system lets it.
/// @param since  a time before that is left alone
void round_times(const std::filesystem::path& path, std::time_t since = 0);
/// The same of this file or folder alone, not of what lies in it.
void round_own_times(const std::filesystem::path& path, std::time_t since = 0);

/// Makes a file of so many bytes in the folder and removes it. @throws IoError  disk full or quota used up.
void require_room(const std::filesystem::path& folder, std::size_t bytes);

}  // namespace muffle
