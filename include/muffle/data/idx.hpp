#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/files.hpp"

namespace muffle::data {

class ByteStream;

/// The element types of IDX that muffle reads and writes; the format's other types are refused.
enum class IdxType : std::uint8_t {
  kUint8 = 0x08,
  kFloat32 = 0x0D,  ///< big-endian IEEE 754
};

/// Bytes per element: 1 or 4.
std::size_t element_size(IdxType type);

/// What an IDX file declares: magic 0 0 type rank, then `rank` sizes as big-endian u32, then the elements,
/// row-major.
struct IdxHeader {
  IdxType type = IdxType::kUint8;
  std::vector<std::uint64_t> dims;  ///< records first; never empty

  std::uint64_t records() const { return dims.front(); }
  std::uint64_t record_elements() const;
  std::uint64_t record_bytes() const { return record_elements() * element_size(type); }
};

/// Streams the records of one IDX file, plain or gzip (told apart by content, not by name). Memory: a fixed
/// buffer, whatever the header declares. Messages name the file; how many records it declares or holds is a
/// local detail of the error; nothing holds an element.
class IdxReader {
 public:
  /// Opens the file and checks its header: magic, type, sizes whose product does not overflow, and the file's
  /// own size: exactly what the header declares (plain), or at least possible for gzip's best ratio
  /// (compressed).
  /// @throws IoError    missing, unreadable or not a regular file.
  /// @throws DataError  not IDX, an element type muffle does not read, or a size that disagrees.
  explicit IdxReader(const std::filesystem::path& path);
  ~IdxReader();
  IdxReader(IdxReader&&) noexcept;
  IdxReader& operator=(IdxReader&&) noexcept;

  const IdxHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// The record that read() returns next, counting from 0.
  std::uint64_t position() const { return position_; }

  /// Reads the next out.size() / record_bytes() records as they are stored (floats still big-endian).
  /// out.size() must be a whole number of records within the file.
  /// @throws DataError  truncated, or damaged compressed data (the checksum is verified by expect_end).
  void read(std::span<std::byte> out);
  /// Passes over `records` records: a seek in a plain file, decompression without storage in a gzip file.
  void skip(std::uint64_t records);
  /// After the last record: checks that nothing follows it and, for gzip, the stream's checksum and length.
  /// @throws DataError.
  void expect_end();

 private:
  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  IdxHeader header_;
  std::uint64_t position_ = 0;
};

/// Big-endian float32 as stored in an IDX file; reads 4 bytes.
float load_float(const std::byte* bytes);

/// Writes an IDX file, plain, piece by piece. Atomic.
class IdxWriter {
 public:
  /// @param dims  records first
  /// @throws IoError;  InvariantError if a size does not fit 32 bits.
  IdxWriter(const std::filesystem::path& path, IdxType type, std::span<const std::size_t> dims);
  /// The next elements, of the type that was announced. @throws IoError.
  void write(std::span<const std::uint8_t> elements);
  void write(std::span<const float> elements);
  /// After the last element. @throws IoError;  InvariantError: too few or too many.
  void commit();

 private:
  void count(IdxType type, std::size_t elements);

  NewFile file_;
  IdxType type_;
  std::size_t promised_ = 1;  ///< elements, by the dimensions
  std::size_t written_ = 0;
};

/// Writes an IDX file, plain. Atomic. dims: records first; their product must be elements.size().
/// @throws IoError;  InvariantError if dims and elements disagree or a size does not fit 32 bits.
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const std::uint8_t> elements);
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const float> elements);

}  // namespace muffle::data
