#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/schema/records.hpp"

namespace muffle::schema {

/// A whole PNG file in memory, grey (1 channel) or RGB (3), from interleaved bytes height x width x channels.
/// @throws InvariantError  sizes that disagree, or that no PNG has.
std::vector<std::byte> png_bytes(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width,
                                 std::size_t channels);

/// Image `index` as interleaved bytes, height x width x channels, from its planes.
std::vector<std::uint8_t> interleaved_image(const Records& records, std::size_t index);

}  // namespace muffle::schema
