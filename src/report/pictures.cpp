#include "pictures.hpp"

#include <fmt/format.h>
#include <sodium/utils.h>

#include <algorithm>
#include <cmath>

#include "html.hpp"
#include "muffle/core/html_text.hpp"
#include "muffle/schema/png_bytes.hpp"

namespace muffle::report {

bool is_picture(const schema::Schema& schema) {
  return schema.is_image() && (schema.shape[0] == 1 || schema.shape[0] == 3);
}

std::vector<double> image_of(const Rows& rows, std::size_t row) {
  std::vector<double> out;
  out.reserve(rows.values.size());
  for (const auto& column : rows.values) out.push_back(column[row]);
  return out;
}

std::string picture(const schema::Schema& schema, std::span<const std::vector<double>> images,
                    std::size_t columns, const std::string& title) {
  constexpr std::size_t kGap = 2;
  constexpr double kLargestByte = 255.0;
  const std::size_t channels = schema.shape[0], h = schema.shape[1], w = schema.shape[2];
  const std::size_t lines = (images.size() + columns - 1) / columns;
  const std::size_t height = lines * (h + kGap) - kGap, width = columns * (w + kGap) - kGap;
  std::vector<std::uint8_t> canvas(height * width * channels, 0xFF);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t top = i / columns * (h + kGap), left = i % columns * (w + kGap);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < h * w; ++p) {
        const double value = std::clamp(images[i][c * h * w + p], 0.0, 1.0);
        canvas[((top + p / w) * width + left + p % w) * channels + c] =
            static_cast<std::uint8_t>(std::lround(value * kLargestByte));
      }
    }
  }
  const std::vector<std::byte> png = schema::png_bytes(canvas, height, width, channels);
  std::string text(sodium_base64_ENCODED_LEN(png.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(png.data()), png.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  const std::size_t shown = width < 200 ? width * 3 : width < 500 ? width * 2 : width;
  return fmt::format("<img alt=\"{}\" width=\"{}\" src=\"data:image/png;base64,{}\">", html_escaped(title),
                     shown, text);
}

}  // namespace muffle::report
