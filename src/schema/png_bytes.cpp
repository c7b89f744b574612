#include "muffle/schema/png_bytes.hpp"

#include <fmt/format.h>
#include <png.h>

#include <limits>
#include <string>

#include "muffle/core/error.hpp"

namespace muffle::schema {

std::vector<std::byte> png_bytes(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width,
                                 std::size_t channels) {
  require(channels == 1 || channels == 3, fmt::format("a PNG has 1 or 3 channels here, not {}", channels));
  constexpr std::size_t kMaxSide = std::numeric_limits<std::uint16_t>::max();
  require(height > 0 && width > 0 && height <= kMaxSide && width <= kMaxSide &&
              pixels.size() == height * width * channels,
          fmt::format("a PNG of {} x {} x {} cannot be made of {} bytes", height, width, channels,
                      pixels.size()));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> out(size);
  const bool done = png_image_write_to_memory(&image, out.data(), &size, /*convert_to_8bit=*/0, pixels.data(),
                                              /*row_stride=*/0, /*colormap=*/nullptr) != 0;
  const std::string reason = image.message;
  png_image_free(&image);
  require(done, "libpng could not encode an image: " + reason);
  out.resize(size);
  return out;
}

std::vector<std::uint8_t> interleaved_image(const Records& records, std::size_t index) {
  const std::size_t channels = records.shape[0], pixels = records.shape[1] * records.shape[2];
  const std::uint8_t* planes = records.bytes.data() + index * channels * pixels;
  std::vector<std::uint8_t> out(channels * pixels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < pixels; ++p) out[p * channels + c] = planes[c * pixels + p];
  }
  return out;
}

}  // namespace muffle::schema
