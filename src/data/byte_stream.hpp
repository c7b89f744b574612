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

inline constexpr std::size_t kBufferBytes = std::size_t{1} << 17;
/// Deflate codes at most 258 bytes in two bits: no stream grows by more than this.
inline constexpr std::uint64_t kDeflateRatio = 1032;

/// Bytes that come one after the other.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills `out` as far as the bytes go. @returns bytes written: out.size() unless they ended.
  std::size_t read(std::span<std::byte> out);
  /// Passes over n bytes. @returns how many there were: n unless they ended. Throws like read().
  std::uint64_t skip(std::uint64_t n);

 protected:
  std::span<const std::byte> ready_;  ///< bytes to hand out

 private:
  /// The next bytes, valid until the next call; none at the end.
  virtual std::span<const std::byte> more() = 0;
  /// Passes over up to n bytes without a look at them. @returns how many; 0 if it cannot.
  virtual std::uint64_t jump(std::uint64_t n) = 0;
};

/// @throws IoError  missing, unreadable or not a regular file.
InputFile record_file(const std::filesystem::path& path);

/// The bytes of a file, decompressed if it is gzip. zlib's gz* functions would do, but they pass over garbage
/// after the compressed stream in silence; here every byte of the file must belong to it.
class ByteStream final : public ByteReader {
 public:
  /// @throws IoError. read() and skip() throw that too, and DataError: compressed data that is damaged,
  /// truncated, or followed by something else.
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream() override;

  bool compressed() const { return compressed_; }
  /// Bytes on disk.
  std::uint64_t file_size() const { return file_.size(); }

 private:
  std::span<const std::byte> more() override;
  std::uint64_t jump(std::uint64_t n) override;
  std::size_t inflate_more();
  std::size_t read_disk(std::span<unsigned char> out);

  std::string name_;  ///< for messages
  InputFile file_;
  bool compressed_ = false;
  std::uint64_t disk_position_ = 0;
  std::vector<unsigned char> input_;   ///< compressed bytes
  std::vector<unsigned char> buffer_;  ///< bytes as they are handed out
  z_stream zlib_{};
  bool between_members_ = false;
};

}  // namespace muffle::data
