#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/files.hpp"

namespace muffle::data {

/// Bytes that come one after the other.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills `out` as far as the bytes go. @returns bytes written: out.size() unless they ended.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  /// Passes over n bytes. @returns how many there were: n unless they ended. Throws like read().
  virtual std::uint64_t skip(std::uint64_t n) = 0;
};

/// The bytes of a file, decompressed if it is gzip. zlib's gz* functions would do, but they pass over garbage
/// after the compressed stream in silence; here every byte of the file must belong to it.
class ByteStream final : public ByteReader {
 public:
  /// @throws IoError  missing, unreadable or not a regular file.
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream() override;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  bool compressed() const { return compressed_; }
  /// Bytes on disk.
  std::uint64_t file_size() const { return file_.size(); }

  /// @throws DataError  compressed data that is damaged, truncated, or followed by something else;  IoError.
  std::size_t read(std::span<std::byte> out) override;
  std::uint64_t skip(std::uint64_t n) override;

 private:
  bool refill();
  bool inflate_more();
  std::size_t read_disk(std::span<unsigned char> out);

  std::string name_;  ///< for messages
  InputFile file_;
  bool compressed_ = false;
  std::uint64_t disk_position_ = 0;
  std::vector<unsigned char> input_;  ///< compressed bytes
  std::vector<unsigned char> ready_;  ///< bytes to hand out: ready_[begin_, end_)
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  z_stream zlib_{};
  bool between_members_ = false;
};

}  // namespace muffle::data
