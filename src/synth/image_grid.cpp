#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/schema/png_bytes.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kGap = 2;             // pixels between the images of a grid
constexpr std::uint8_t kBackground = 0xFF;  // of gaps and of places without a record

std::string no_picture(const schema::RecordKind& kind) {
  if (kind.is_picture()) return {};
  return fmt::format("records of shape {} are not images of 1 or 3 channels", fmt::join(kind.shape, " x "));
}

class ImageGrid final : public schema::RecordWriter {
 public:
  ImageGrid(std::filesystem::path path, const schema::RecordKind& kind, std::size_t classes,
            std::size_t columns)
      : RecordWriter(kind), path_(std::move(path)), shown_(classes, 0), columns_(columns) {
    if (const std::string problem = no_picture(kind); !problem.empty())
      throw ConfigError("PNGs cannot be made: " + problem + ".");
    require(classes > 0 && columns > 0, "an image grid needs a row and a column");
    height_ = classes * (kind.shape[1] + kGap) - kGap;
    width_ = columns * (kind.shape[2] + kGap) - kGap;
    canvas_.assign(height_ * width_ * kind.shape[0], kBackground);
  }

 private:
  void write(const schema::Records& some) override {
    const std::size_t channels = kind().shape[0], h = kind().shape[1], w = kind().shape[2];
    for (std::size_t i = 0; i < some.count(); ++i) {
      const std::size_t row = some.labels[i];
      if (row >= shown_.size() || shown_[row] == columns_) continue;
      const std::size_t column = shown_[row]++;
      const auto image = schema::interleaved_image(some, i);
      for (std::size_t y = 0; y < h; ++y) {
        const std::size_t at = ((row * (h + kGap) + y) * width_ + column * (w + kGap)) * channels;
        std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(y * w * channels), w * channels,
                    canvas_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
  void complete(const Heartbeat&) override { write_png(path_, canvas_, height_, width_, kind().shape[0]); }

  std::filesystem::path path_;
  std::vector<std::size_t> shown_;  ///< records of each class
  std::size_t columns_, height_ = 0, width_ = 0;
  std::vector<std::uint8_t> canvas_;
};

}  // namespace

void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels) {
  write_file_atomically(path, schema::png_bytes(pixels, height, width, channels));
}

std::unique_ptr<schema::RecordWriter> image_grid_writer(const std::filesystem::path& path,
                                                        const schema::RecordKind& kind, std::size_t classes,
                                                        std::size_t columns) {
  return std::make_unique<ImageGrid>(path, kind, classes, columns);
}

}  // namespace muffle::synth
