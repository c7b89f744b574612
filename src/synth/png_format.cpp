#include <fmt/format.h>
#include <fmt/ranges.h>
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kGap = 2;             // pixels between the images of a grid
constexpr std::uint8_t kBackground = 0xFF;  // of gaps and of places without a record

/// A small file takes whole blocks; a PNG's header and checksums come to fewer bytes than this.
constexpr std::uint64_t kDiskBlock = 4096, kPngExtra = 256;
constexpr const char* kFolder = "png";

std::string no_picture(const schema::RecordKind& kind) {
  if (kind.is_picture()) return {};
  return fmt::format("records of shape {} are not images of 1 or 3 channels", fmt::join(kind.shape, " x "));
}

/// Writes one of very many small files: no sync, so not atomic across a power loss. @throws IoError.
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

/// Image `index` as interleaved bytes, height x width x channels, from its planes.
std::vector<std::uint8_t> interleaved_image(const schema::Records& records, std::size_t index) {
  const std::size_t channels = records.shape[0], pixels = records.shape[1] * records.shape[2];
  const std::uint8_t* planes = records.bytes.data() + index * channels * pixels;
  std::vector<std::uint8_t> out(channels * pixels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < pixels; ++p) out[p * channels + c] = planes[c * pixels + p];
  }
  return out;
}

class PngFolder final : public schema::RecordWriter {
 public:
  PngFolder(std::filesystem::path folder, const schema::RecordKind& kind)
      : RecordWriter(kind), folder_(std::move(folder)) {
    ensure_writable_folder(folder_);
  }

 private:
  void write(const schema::Records& some) override {
    const auto& shape = kind().shape;
    for (std::size_t i = 0; i < some.count(); ++i) {
      const std::filesystem::path of_class = folder_ / std::to_string(some.labels[i]);
      if (classes_.insert(some.labels[i]).second) ensure_writable_folder(of_class);
      const auto png = png_bytes(interleaved_image(some, i), shape[1], shape[2], shape[0]);
      write_small_file(of_class / fmt::format("{:06}.png", written() + i), png);
    }
  }
  void complete(const Heartbeat&) override {}

  std::filesystem::path folder_;
  std::set<int> classes_;  ///< that have their folder
};

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
      const auto image = interleaved_image(some, i);
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

class PngFormat final : public schema::RecordFormat {
 public:
  std::string name() const override { return kFolder; }
  std::string cannot_hold(const schema::RecordKind& kind) const override { return no_picture(kind); }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kind.count * ((kind.record_bytes() + kPngExtra + kDiskBlock - 1) / kDiskBlock * kDiskBlock);
  }
  std::vector<std::string> files(const std::string&) const override { return {kFolder}; }
  bool writes_folder() const override { return true; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& folder,
                                               const schema::RecordKind& kind) const override {
    return std::make_unique<PngFolder>(folder, kind);
  }
};

}  // namespace

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

void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels) {
  write_file_atomically(path, png_bytes(pixels, height, width, channels));
}

const schema::RecordFormat& png_format() {
  static const PngFormat format;
  return format;
}

std::unique_ptr<schema::RecordWriter> image_grid_writer(const std::filesystem::path& path,
                                                        const schema::RecordKind& kind, std::size_t classes,
                                                        std::size_t columns) {
  return std::make_unique<ImageGrid>(path, kind, classes, columns);
}

}  // namespace muffle::synth
