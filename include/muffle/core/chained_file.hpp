#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "muffle/core/heartbeat.hpp"

namespace muffle {

// A book that is only ever added to, such as a ledger: lines of JSON, each with the SHA-256 of the line
// before it and, last, its own; on the disk before anybody acts upon it; one writer at a time. What the lines
// say, and what is done about a line that was cut off, is their reader's business.

/// What messages call a book, and what they say is at stake.
struct BookWords {
  std::string_view noun;       ///< "ledger"
  std::string_view in_use;     ///< "The privacy ledger is in use"
  std::string_view turns;      ///< who waits for whom: "Releases of one data set take turns"
  std::string_view two_names;  ///< what a second name allows: "two releases could spend the same budget"
  std::string_view half;       ///< of a line that may be there: "what it charges counts as spent"
  std::string_view nothing;    ///< "Nothing was charged or drawn."
};

/// Longer lines are refused: none of ours comes near.
inline constexpr std::size_t kMaxBookLine = 1 << 16;
inline constexpr std::size_t kMaxBook = std::size_t{1} << 28;

/// The lines of a book that were read.
struct Chain {
  std::uint64_t lines = 0;
  /// SHA-256 of the last line, 64 zeros without one: note it down elsewhere to find out rollbacks.
  std::string head = std::string(64, '0');
  std::uint64_t good_bytes = 0;  ///< length of the verified lines
  std::string torn;              ///< what follows them: a line that was cut off by a crash
};

/// Ends a line, a JSON object in its one spelling, with its own hash. No newline.
std::string with_own_hash(std::string json);
/// @throws std::invalid_argument  it does not end with its own hash, or is too long; saying so.
void require_own_hash(std::string_view line);
/// What a line says of its place. @throws std::invalid_argument  it does not continue the chain.
void require_continues(const Chain& chain, std::uint64_t sequence, std::string_view previous);
/// @throws std::invalid_argument  `problem`, unless it holds.
void demand(bool holds, const char* problem);

/// Reads all whole lines, one after the other. A torn last line (no newline, or NULs where a crash left a
/// hole) is no error: it is returned as `torn`. @param chain  counts on; where something is thrown it tells
/// how far
/// @param each  reads a line, with what was before it, and calls require_own_hash() and require_continues()
/// @throws std::invalid_argument  what `each` throws; or there is no whole line.
void read_chain(std::string_view bytes, Chain& chain, const std::function<void(std::string_view line)>& each);

/// Creates `file` with this line and a newline, complete or absent, and syncs its folder. A file of that name
/// that is there already, even one that this machine's cache of a network folder has not seen yet, is left as
/// it is. Under the lock. @throws IoError.
void create_book(const std::filesystem::path& file, const BookWords& words, std::string_view line);

/// A book that is open for adding to it, locked by this object for as long as it lives (flock on FILE.lock;
/// released by the kernel however the process ends). Not thread-safe.
class Book {
 public:
  /// Locks it, and makes it if there is none. Blocks up to `deadline` while another process holds the lock.
  /// @param first_line  makes the line of a new book
  /// @throws CommError  the lock was not to be had: names who holds it. @throws ProtocolError  a file with a
  /// second name (hard link), through which it could be written under another lock. @throws IoError.
  Book(std::filesystem::path file, const BookWords& words, const std::function<std::string()>& first_line,
       std::chrono::milliseconds deadline, const Heartbeat& heartbeat = {});
  Book(Book&&) noexcept;
  Book& operator=(Book&&) = delete;
  ~Book();

  const std::filesystem::path& file() const { return file_; }
  /// Whether it had to be made.
  bool created() const { return created_; }

  /// Appends a line and a newline behind the first `size` bytes and syncs file and folder: it is on the disk
  /// when this returns. If that fails, the file is cut back.
  /// @throws ProtocolError  the file is not `size` bytes long: somebody wrote to it in spite of the lock.
  /// @throws IoError  naming the file and the system's reason; it is full.
  void append(std::uint64_t size, std::string_view line) const;
  /// Replaces the file, in one atomic step: for a torn line that is cut off.
  void rewrite(std::string_view text) const;

 private:
  class Lock;

  std::filesystem::path file_;
  BookWords words_;
  std::unique_ptr<Lock> lock_;
  bool created_ = false;
};

/// "2026-11-21T00:00:00Z": a time of day would tell how long a job took, and with it how many records there
/// are.
std::string today();
/// This machine's name.
std::string host_name();
/// Text as it comes back from a line: bytes that are no UTF-8, and control characters, are replaced.
std::string storable(const std::string& text);

}  // namespace muffle
