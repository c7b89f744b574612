#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "muffle/core/files.hpp"

namespace muffle::data {

/// The element types of IDX that muffle reads and writes; the format's other types are refused.
enum class IdxType : std::uint8_t {
  kUint8 = 0x08,
  kFloat32 = 0x0D,  ///< big-endian IEEE 754
};

/// Writes an IDX file, plain, piece by piece: magic 0 0 type rank, then `rank` sizes as big-endian u32, then
/// the elements, row-major. Atomic.
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
