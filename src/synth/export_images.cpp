#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/synth/export.hpp"
#include "png_bytes.hpp"
#include "records.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kGap = 2;             // pixels between the images of a grid
constexpr std::uint8_t kBackground = 0xFF;  // of gaps and of places without a record

}  // namespace

void write_png_folder(const std::filesystem::path& folder, const Records& records) {
  check_images(records);
  ensure_writable_folder(folder);
  const std::set<int> classes(records.labels.begin(), records.labels.end());
  for (const int c : classes) ensure_writable_folder(folder / std::to_string(c));
  for (std::size_t i = 0; i < records.count(); ++i) {
    const auto png =
        png_bytes(interleaved_image(records, i), records.shape[1], records.shape[2], records.shape[0]);
    write_small_file(folder / std::to_string(records.labels[i]) / fmt::format("{:06}.png", i), png);
  }
}

void write_image_grid(const std::filesystem::path& path, const Records& records, std::size_t classes,
                      std::size_t columns) {
  check_images(records);
  require(classes > 0 && columns > 0, "an image grid needs a row and a column");
  const std::size_t channels = records.shape[0], h = records.shape[1], w = records.shape[2];
  const std::size_t height = classes * (h + kGap) - kGap, width = columns * (w + kGap) - kGap;
  std::vector<std::uint8_t> canvas(height * width * channels, kBackground);
  std::vector<std::size_t> shown(classes, 0);
  for (std::size_t i = 0; i < records.count(); ++i) {
    const std::size_t row = records.labels[i];
    if (row >= classes || shown[row] == columns) continue;
    const std::size_t column = shown[row]++;
    const auto image = interleaved_image(records, i);
    for (std::size_t y = 0; y < h; ++y) {
      const std::size_t at = ((row * (h + kGap) + y) * width + column * (w + kGap)) * channels;
      std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(y * w * channels), w * channels,
                  canvas.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  write_png(path, canvas, height, width, channels);
}

}  // namespace muffle::synth
