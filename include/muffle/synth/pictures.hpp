#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "muffle/schema/records.hpp"
#include "muffle/schema/schema.hpp"

// What people look at. Programs read the formats of room data, which are not seen from here: whoever makes
// records cannot read any.
namespace muffle::synth {

/// "png": one PNG a record, png/<class>/<number>.png, of uint8 images of 1 or 3 channels.
const schema::RecordFormat& png_format();

/// Grid of images: row c shows the first `columns` records of class c; 2-pixel gaps. @throws ConfigError.
std::unique_ptr<schema::RecordWriter> image_grid_writer(const std::filesystem::path& path,
                                                        const schema::RecordKind& kind, std::size_t classes,
                                                        std::size_t columns);
/// Scatter plot of 2-D records inside [lo, hi]^2, one colour a class, with axes' frame and ticks.
/// @throws ConfigError: records of more or fewer numbers.
std::unique_ptr<schema::RecordWriter> scatter_writer(const std::filesystem::path& path,
                                                     const schema::RecordKind& kind,
                                                     const schema::Schema& schema);
/// A whole PNG file in memory, from interleaved bytes height x width x channels (1 or 3).
std::vector<std::byte> png_bytes(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width,
                                 std::size_t channels);
/// Grey (1 channel) or RGB (3) PNG of interleaved bytes, height x width x channels. Atomic.
void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels);

}  // namespace muffle::synth
