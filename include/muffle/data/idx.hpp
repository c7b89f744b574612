#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace muffle::data {

/// Writes an IDX file, plain: magic 0 0 type rank, then `rank` sizes as big-endian u32, then the elements,
/// row-major: uint8 (type 0x08) or big-endian float32 (0x0D). Atomic.
/// @param dims  records first; their product must be elements.size().
/// @throws IoError;  InvariantError if dims and elements disagree or a size does not fit 32 bits.
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const std::uint8_t> elements);
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const float> elements);

}  // namespace muffle::data
