#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// What the numbers of an array are, as stored.
struct ElementType {
  enum class Kind {
    kUnsigned,  ///< truth values, too: 0 and 1
    kSigned,
    kFloat,
    kCharacters,  ///< text: code points of 4 bytes
    kBytes,       ///< text: UTF-8, or what is none
    kTime,        ///< counts of `unit` since 1970-01-01; the least one stands for none
    kFields,      ///< several numbers and texts (ArrayHeader::fields)
  } kind = Kind::kUnsigned;
  std::size_t size = 1;  ///< bytes: 1, 2, 4 or 8; of floats 2, 4 or 8; of texts up to kMostTextBytes
  bool big_endian = false;
  /// Of times: seconds / parts, or calendar months.
  struct Unit {
    std::int64_t seconds = 1, parts = 1, months = 0;
  } unit = {};

  bool is_byte() const { return kind == Kind::kUnsigned && size == 1; }
  bool is_integer() const { return kind == Kind::kUnsigned || kind == Kind::kSigned; }
  bool is_text() const { return kind == Kind::kCharacters || kind == Kind::kBytes; }
  /// "uint8", "float32", ...
  std::string name() const;
  bool is_time() const { return kind == Kind::kTime; }
  /// The nearest float32. Numbers alone, as the next.
  float to_float(const std::byte* stored) const;
  /// Of times the whole seconds since 1970-01-01 that have passed; NaN: none.
  double to_double(const std::byte* stored) const;
  /// A number with all its digits; of a text what stands before the NULs at its end, in UTF-8. What is no
  /// character becomes U+FFFD, which no schema has: it is a field that does not fit.
  std::string to_text(const std::byte* stored) const;
  /// A class; -1 if it is negative or beyond 2^31 - 1. Integers alone.
  std::int64_t to_label(const std::byte* stored) const;
};

/// What an array's file declares.
struct ArrayHeader {
  ElementType type;
  std::vector<std::uint64_t> dims;  ///< row-major; records first; never empty
  struct Field {
    std::string name;
    ElementType type;
    std::uint64_t elements = 1;
    std::size_t offset = 0;  ///< bytes from the record's beginning
  };
  std::vector<Field> fields = {};  ///< of Kind::kFields, all that have a name

  std::uint64_t records() const { return dims.front(); }
  std::span<const std::uint64_t> record_shape() const { return std::span(dims).subspan(1); }
  std::uint64_t record_elements() const;
  std::uint64_t record_bytes() const { return record_elements() * type.size; }
  /// Bytes of all elements. The record's size comes first, so that an array of no records may not hide an
  /// absurd one. @param name  "'FILE'". @throws DataError  more than any file can hold.
  std::uint64_t checked_bytes(const std::string& name) const;
  /// "10 x 28 x 28", for local details.
  std::string text() const;
};

/// After what is public about a damaged file.
inline constexpr const char* kCopyAgain = " Copy or download it again.";

/// @param where  private: "inside record 7".
DataError truncated(const std::string& name, const std::string& where);

/// @throws DataError  the file has fewer or more `bytes` than its header and the array: `declared`.
void check_size(const std::string& name, const ArrayHeader& header, std::uint64_t declared,
                std::uint64_t bytes);

/// Streams the records of one array. Memory: that of its bytes' reader.
class ArrayReader {
 public:
  /// @param name    "'FILE'"  @param bytes  stands behind the header
  ArrayReader(std::string name, ArrayHeader header, std::unique_ptr<ByteReader> bytes)
      : name_(std::move(name)), header_(std::move(header)), bytes_(std::move(bytes)) {}

  const std::string& name() const { return name_; }
  const ArrayHeader& header() const { return header_; }
  /// The record that read() returns next, counting from 0.
  std::uint64_t position() const { return position_; }

  /// The next record as it is stored: out.size() is record_bytes(). @throws DataError  truncated or damaged.
  void read(std::span<std::byte> out);
  /// Forward to this record.
  void go_to(std::uint64_t record);
  /// Passes over what is left and checks that nothing follows. @throws DataError.
  void expect_end();

 private:
  std::string name_;
  ArrayHeader header_;
  std::unique_ptr<ByteReader> bytes_;
  std::uint64_t position_ = 0;
};

/// Records in one array (records x shape), their labels in another (one integer a record) or nowhere. Checks
/// both against the schema and each other, and the layout of images (DataSpec::channels_last).
/// @throws DataError.
std::unique_ptr<RecordStream> array_records(const DataSpec& spec, ArrayReader numbers,
                                            std::optional<ArrayReader> labels);

// NumPy's array format (numpy.lib.format): magic, version, length, a Python dict literal, then the elements.

/// Version 1.0 header, padded so that the elements begin at a multiple of 64 bytes.
/// @param descr  element type, such as "|u1" or "<f4"
std::string npy_header(const std::string& descr, std::span<const std::size_t> shape);

/// A longer element of text is refused, as in a CSV file.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;

/// The bytes of an array, from the beginning.
using OpenBytes = std::function<std::unique_ptr<ByteReader>()>;

/// Reads the header; the elements come next. @param name  of the array, in messages  @param size  of it all
/// @param open  called again for each part of an array in Fortran order
/// @param texts  its elements may be texts (NumPy's U and S), times, or several of all these, as those of a
/// table's columns
/// @throws DataError  no npy array of this size, or one of elements that muffle does not read.
ArrayReader read_npy(const std::string& name, const OpenBytes& open, std::uint64_t size, bool texts);

/// The elements of an array in Fortran order, record by record in C order. Memory: one part of them, 16 MiB,
/// or a record. @param open  their bytes as they are stored
std::unique_ptr<ByteReader> in_c_order(const ArrayHeader& header, OpenBytes open);

}  // namespace muffle::data
