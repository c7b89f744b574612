#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// A larger picture is refused by its header, before anything is decoded.
inline constexpr std::size_t kMostPictureSide = 4096;
/// So is a longer file.
inline constexpr std::size_t kMostPictureBytes = std::size_t{1} << 26;

/// Why a file cannot be a record. Private: it goes to the rank's own log.
struct PictureProblem {
  std::string what;  ///< "is cut off or damaged: ..."
  /// It is a picture as far as it was looked at, and none of the schema: of another size, of other channels,
  /// or larger than is read.
  bool is_misfit = false;
};

/// Decodes a PNG or a JPEG, told apart by content, into bytes channel by channel, as schema::Schema has them.
/// Grey counts for colour where three channels are wanted. No colour profile, gamma or EXIF turn is applied.
/// Memory: the picture's pixels, kMostPictureSide a side at most; of a JPEG whose scans come one after the
/// other twice those.
/// @param file   the whole file
/// @param shape  {channels, height, width}
/// @returns its own number of pixels.
/// @throws PictureProblem  it is neither, damaged, cut off, of another size (without a resize), too large, or
/// of other channels.
std::size_t decode_picture(std::span<const std::byte> file, std::span<const std::size_t> shape, Resize resize,
                           std::vector<std::uint8_t>& out);

/// The mean over the area that each new pixel covers, in integers and rounded to the nearest level: the same
/// on every machine. @param pixels  interleaved, height x width x channels  @returns likewise, of the new
/// size.
std::vector<std::uint8_t> area_means(std::span<const std::uint8_t> pixels, std::size_t height,
                                     std::size_t width, std::size_t channels, std::size_t new_height,
                                     std::size_t new_width);

}  // namespace muffle::data
