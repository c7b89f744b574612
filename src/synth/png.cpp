#include <png.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/synth/pictures.hpp"
#include "png_bytes.hpp"

namespace muffle::synth {

std::vector<std::byte> png_bytes(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width,
                                 std::size_t channels) {
  require(channels == 1 || channels == 3, "a PNG has 1 or 3 channels here, not " + std::to_string(channels));
  constexpr std::size_t kMaxSide = std::numeric_limits<std::uint16_t>::max();
  require(height > 0 && width > 0 && height <= kMaxSide && width <= kMaxSide &&
              pixels.size() == height * width * channels,
          "a PNG of " + std::to_string(height) + " x " + std::to_string(width) + " x " +
              std::to_string(channels) + " cannot be made of " + std::to_string(pixels.size()) + " bytes");
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

void write_small_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const WatchedStep step("writing", path);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw IoError("cannot write '" + path.string() + "': " + std::strerror(errno) +
                  ". Check that you may write there and that the disk is not full.");
  }
}

void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels) {
  write_file_atomically(path, png_bytes(pixels, height, width, channels));
}

}  // namespace muffle::synth
