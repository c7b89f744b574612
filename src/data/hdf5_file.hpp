#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "muffle/core/files.hpp"

// HDF5 files, by the format's public specification (The HDF Group, "HDF5 File Format Specification"), for
// arrays of numbers. muffle reads them by itself: libhdf5 loads filters as plug-ins, follows links into other
// files, and trusts what a header says of sizes. What is read here is bounded before it is believed.
namespace muffle::data {

/// The address that stands for none.
inline constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};
/// Chunks, and the records of a row of them, are held at once: no more bytes than this.
inline constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 26;

/// A file's bytes by their place. Reads go forwards mostly; going back opens the file again.
class Hdf5Bytes {
 public:
  explicit Hdf5Bytes(std::filesystem::path path);

  /// "'FILE'".
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// @throws DataError  the file ends before.
  void read(std::uint64_t place, std::span<std::byte> out);

  /// @param what  "has ...". Advice follows.
  DataError unreadable(const std::string& what) const;
  /// A header contradicts itself or the file.
  DataError damaged() const;

 private:
  std::filesystem::path path_;
  std::string name_;
  std::unique_ptr<InputFile> file_;
  std::uint64_t size_ = 0, position_ = 0;
};

/// Numbers out of a header, little-endian, one after the other. @throws DataError  there are no more.
class Hdf5Fields {
 public:
  Hdf5Fields(const Hdf5Bytes& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}
  /// Of 1 to 8 bytes.
  std::uint64_t number(std::size_t bytes);
  std::uint64_t address() { return number(8); }
  std::span<const std::byte> take(std::uint64_t bytes);
  void skip(std::uint64_t bytes) { (void)take(bytes); }
  std::size_t left() const { return bytes_.size(); }

 private:
  const Hdf5Bytes& file_;
  std::span<const std::byte> bytes_;
};

/// An array of a file, as its header describes it.
struct Hdf5Set {
  enum class Layout { kCompact, kContiguous, kChunked };
  enum class Filter : std::uint16_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3 };
  ArrayHeader header;
  Layout layout = Layout::kContiguous;
  std::uint64_t place = kNoAddress;    ///< of the numbers, or of the chunks' tree; kNoAddress: there are none
  std::uint64_t base = 0;              ///< where addresses are counted from
  std::vector<std::byte> inside = {};  ///< of a compact one: its numbers
  std::vector<std::uint64_t> chunk = {};
  std::vector<Filter> filters = {};  ///< in the order in which they were applied
};

/// Finds an array by its path, such as "train/x", through the file's own groups alone.
/// @throws DataError  it is missing, or is none that muffle reads; IoError.
Hdf5Set find_hdf5_set(Hdf5Bytes& file, const std::string& path);

/// Its numbers, row by row.
std::unique_ptr<ByteReader> hdf5_numbers(const std::filesystem::path& file, const Hdf5Set& set);

}  // namespace muffle::data
