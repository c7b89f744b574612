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

class PngFolder final : public RecordWriter {
 public:
  PngFolder(std::filesystem::path folder, const RecordKind& kind)
      : RecordWriter(kind), folder_(std::move(folder)) {
    check_images(kind);
    ensure_writable_folder(folder_);
  }

 private:
  void write(const Records& some) override {
    const auto& shape = kind().shape;
    for (std::size_t i = 0; i < some.count(); ++i) {
      const std::filesystem::path of_class = folder_ / std::to_string(some.labels[i]);
      if (classes_.insert(some.labels[i]).second) ensure_writable_folder(of_class);
      const auto png = png_bytes(interleaved_image(some, i), shape[1], shape[2], shape[0]);
      write_small_file(of_class / fmt::format("{:06}.png", written() + i), png);
    }
  }
  void complete(const std::function<void()>&) override {}

  std::filesystem::path folder_;
  std::set<int> classes_;  ///< that have their folder
};

class ImageGrid final : public RecordWriter {
 public:
  ImageGrid(std::filesystem::path path, const RecordKind& kind, std::size_t classes, std::size_t columns)
      : RecordWriter(kind), path_(std::move(path)), shown_(classes, 0), columns_(columns) {
    check_images(kind);
    require(classes > 0 && columns > 0, "an image grid needs a row and a column");
    height_ = classes * (kind.shape[1] + kGap) - kGap;
    width_ = columns * (kind.shape[2] + kGap) - kGap;
    canvas_.assign(height_ * width_ * kind.shape[0], kBackground);
  }

 private:
  void write(const Records& some) override {
    const std::size_t channels = kind().shape[0], h = kind().shape[1], w = kind().shape[2];
    for (std::size_t i = 0; i < some.count(); ++i) {
      const std::size_t row = some.labels[i];
      if (row >= shown_.size() || shown_[row] == columns_) continue;
      const std::size_t column = shown_[row]++;
      const auto image = interleaved_image(some, i);
      for (std::size_t y = 0; y < h; ++y) {
        const std::size_t at = ((row * (h + kGap) + y) * width_ + column * (w + kGap)) * channels;
        std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(y * w * channels), w * channels,
                    canvas_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
  void complete(const std::function<void()>&) override {
    write_png(path_, canvas_, height_, width_, kind().shape[0]);
  }

  std::filesystem::path path_;
  std::vector<std::size_t> shown_;  ///< records of each class
  std::size_t columns_, height_ = 0, width_ = 0;
  std::vector<std::uint8_t> canvas_;
};

}  // namespace

std::unique_ptr<RecordWriter> png_folder_writer(const std::filesystem::path& folder, const RecordKind& kind) {
  return std::make_unique<PngFolder>(folder, kind);
}

std::unique_ptr<RecordWriter> image_grid_writer(const std::filesystem::path& path, const RecordKind& kind,
                                                std::size_t classes, std::size_t columns) {
  return std::make_unique<ImageGrid>(path, kind, classes, columns);
}

}  // namespace muffle::synth
