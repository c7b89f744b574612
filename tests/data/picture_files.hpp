#pragma once

#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// After <cstdio>, which it needs.
#include <jpeglib.h>

namespace muffle::data::test {

/// A PNG of interleaved pixels. @param format  one of libpng's: PNG_FORMAT_GRAY, ..._RGBA, ..._LINEAR_Y
inline std::string png_of(const void* pixels, std::size_t height, std::size_t width, png_uint_32 format,
                          const void* palette = nullptr, png_uint_32 colours = 0) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = format;
  image.colormap_entries = colours;
  png_alloc_size_t size = 0;
  EXPECT_TRUE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels, 0, palette)) << image.message;
  std::string out(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, out.data(), &size, 0, pixels, 0, palette)) << image.message;
  out.resize(size);
  return out;
}

/// A piece of a PNG.
inline std::string png_piece(const std::string& kind, const std::string& data) {
  const auto number = [](unsigned long n) {
    std::string out;
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(n >> shift & 0xFF);
    return out;
  };
  const std::string summed = kind + data;
  const auto* const bytes = reinterpret_cast<const Bytef*>(summed.data());
  return number(data.size()) + summed + number(::crc32(0, bytes, static_cast<uInt>(summed.size())));
}

/// A JPEG of 1, 3 or 4 (inks) channels, of the best quality. @param progressive  in several scans
inline std::string jpeg_of(const std::vector<std::uint8_t>& pixels, std::size_t height, std::size_t width,
                           int channels, bool progressive = false) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  for (int c = 0; c < jpeg.num_components; ++c)
    jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t row_bytes = width * static_cast<std::size_t>(channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    std::vector<JSAMPLE> row(
        pixels.begin() + static_cast<std::ptrdiff_t>(jpeg.next_scanline * row_bytes),
        pixels.begin() + static_cast<std::ptrdiff_t>((jpeg.next_scanline + 1) * row_bytes));
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return out;
}

}  // namespace muffle::data::test
