#include "picture.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
// After <cstdio>, which it needs.
#include <jpeglib.h>

namespace muffle::data {
namespace {

/// Interleaved bytes, height x width x channels.
struct Pixels {
  std::size_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bytes;
};

/// A JPEG may say its pixels in very many scans, each of which takes as long as the whole.
constexpr int kMostScans = 100;
/// Of one piece of a PNG, and how many pieces: its notes are dropped unread, so that nothing needs as much.
constexpr png_alloc_size_t kMostPieceBytes = png_alloc_size_t{1} << 22;
constexpr png_uint_32 kMostPieces = 8;

PictureProblem misfit(std::string why) { return {std::move(why), true}; }
PictureProblem damaged(const std::string& why) { return {"is cut off or damaged: " + why}; }

/// By its header. @throws PictureProblem.
void check_header(const Pixels& header, std::span<const std::size_t> shape, Resize resize) {
  if (header.height > kMostPictureSide || header.width > kMostPictureSide)
    throw misfit(fmt::format("has {} x {} pixels (height x width): at most {} a side are read", header.height,
                             header.width, kMostPictureSide));
  if (header.channels != shape[0] && !(header.channels == 1 && shape[0] == 3))
    throw misfit(fmt::format("has {} channel{} ({}), data.shape says {}", header.channels,
                             header.channels == 1 ? "" : "s",
                             header.channels == 1   ? "grey"
                             : header.channels == 2 ? "grey and transparency"
                             : header.channels == 3 ? "colours"
                                                    : "colours and transparency, or four inks",
                             shape[0]));
  if (resize == Resize::kNone && (header.height != shape[1] || header.width != shape[2]))
    throw misfit(fmt::format(
        "has {} x {} pixels (height x width), data.shape says {} x {}, and data.resize is \"none\"",
        header.height, header.width, shape[1], shape[2]));
}

// libpng and libjpeg end a call by a long jump. None jumps over anything that has a destructor: what has one
// is in the reader that outlives the call.

class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> file) : file_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ != nullptr) return;
    png_destroy_read_struct(&png_, nullptr, nullptr);
    throw std::bad_alloc();
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader& operator=(PngReader&&) = delete;

  Pixels header() {
    if (!read_header()) throw damaged(error_);
    if (png_get_bit_depth(png_, info_) > 8) throw misfit("has 16 bits a number: save it with 8");
    const png_byte type = png_get_color_type(png_, info_);
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const std::size_t channels = ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3u : 1u) + (alpha ? 1u : 0u);
    return {png_get_image_height(png_, info_), png_get_image_width(png_, info_), channels, {}};
  }

  void decode(Pixels& pixels) {
    pixels.bytes.resize(pixels.height * pixels.width * pixels.channels);
    std::vector<png_bytep> rows;
    for (std::size_t y = 0; y < pixels.height; ++y)
      rows.push_back(pixels.bytes.data() + y * pixels.width * pixels.channels);
    if (!read_pixels(rows.data(), pixels.width * pixels.channels)) throw damaged(error_);
  }

 private:
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, 1u << 20, 1u << 20);  // check_header() says more
    png_set_chunk_malloc_max(png_, kMostPieceBytes);
    png_set_chunk_cache_max(png_, kMostPieces);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // notes; tRNS is none
    // What would be a warning otherwise.
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_benign_errors(png_, 0);
    png_read_info(png_, info_);
    return true;
  }
  bool read_pixels(png_bytepp rows, std::size_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);  // palettes, less than 8 bits, and a transparent colour
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row_bytes) png_error(png_, "its rows are of another length");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  static void on_error(png_structp png, png_const_charp message) {
    static_cast<PngReader*>(png_get_error_ptr(png))->error_ = message;
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}  // of nothing that pixels are made of
  static void on_read(png_structp png, png_bytep out, std::size_t bytes) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (bytes > self.file_.size() - self.at_) png_error(png, "it ends before its last piece does");
    std::memcpy(out, self.file_.data() + self.at_, bytes);
    self.at_ += bytes;
  }

  std::span<const std::byte> file_;
  std::size_t at_ = 0;
  std::string error_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class JpegReader {
 public:
  explicit JpegReader(std::span<const std::byte> file) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    progress_.progress_monitor = on_progress;
    jpeg_.client_data = this;
    if (!create(file)) throw damaged(error_);
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader& operator=(JpegReader&&) = delete;

  Pixels header() {
    if (!read_header()) throw damaged(error_);
    return {jpeg_.image_height, jpeg_.image_width, static_cast<std::size_t>(jpeg_.num_components), {}};
  }

  void decode(Pixels& pixels) {
    pixels.bytes.resize(pixels.height * pixels.width * pixels.channels);
    if (read_pixels(pixels.bytes.data(), pixels.width * pixels.channels)) return;
    throw too_many_scans_ ? misfit(fmt::format("has more than {} scans", kMostScans)) : damaged(error_);
  }

 private:
  bool create(std::span<const std::byte> file) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    return true;
  }
  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }
  bool read_pixels(JSAMPLE* out, std::size_t row_bytes) {
    if (setjmp(jump_) != 0) return false;
    // Said in full, so that the levels do not hang on a library's defaults.
    jpeg_.out_color_space = jpeg_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_.dct_method = JDCT_ISLOW;
    jpeg_.do_fancy_upsampling = TRUE;
    jpeg_.do_block_smoothing = FALSE;
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = out + jpeg_.output_scanline * row_bytes;
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  static JpegReader& self(j_common_ptr jpeg) { return *static_cast<JpegReader*>(jpeg->client_data); }
  static void on_error(j_common_ptr jpeg) {
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    self(jpeg).error_ = text;
    std::longjmp(self(jpeg).jump_, 1);
  }
  /// Warnings are of data that was made up in the place of what is missing.
  static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0) on_error(jpeg);
  }
  static void on_progress(j_common_ptr jpeg) {
    const auto& of = *reinterpret_cast<const jpeg_decompress_struct*>(jpeg);
    if (of.input_scan_number <= kMostScans) return;
    self(jpeg).too_many_scans_ = true;
    std::longjmp(self(jpeg).jump_, 1);
  }

  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  std::string error_;
  bool too_many_scans_ = false;
};

template <class Reader>
Pixels decoded(Reader&& reader, std::span<const std::size_t> shape, Resize resize) {
  Pixels pixels = reader.header();
  check_header(pixels, shape, resize);
  reader.decode(pixels);
  return pixels;
}

/// The largest part in the middle that is as much wider than high as the shape; of an odd rest one row or
/// column more stays out at the end.
void crop(Pixels& pixels, std::size_t height, std::size_t width) {
  // width / height, or the picture's own where that is the narrower one.
  const std::size_t new_width =
      std::min(pixels.width, std::max<std::size_t>(1, pixels.height * width / height));
  const std::size_t new_height =
      std::min(pixels.height, std::max<std::size_t>(1, pixels.width * height / width));
  const std::size_t top = (pixels.height - new_height) / 2, left = (pixels.width - new_width) / 2;
  std::vector<std::uint8_t> out;
  out.reserve(new_height * new_width * pixels.channels);
  for (std::size_t y = top; y < top + new_height; ++y) {
    const auto row =
        pixels.bytes.begin() + static_cast<std::ptrdiff_t>((y * pixels.width + left) * pixels.channels);
    out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(new_width * pixels.channels));
  }
  pixels = {new_height, new_width, pixels.channels, std::move(out)};
}

/// How much of each old pixel a new one covers, in parts of 1 / (number of new ones).
struct Covered {
  std::size_t first = 0;
  std::vector<std::uint64_t> parts;
};

std::vector<Covered> coverage(std::size_t size, std::size_t new_size) {
  std::vector<Covered> out(new_size);
  for (std::size_t i = 0; i < new_size; ++i) {
    const std::size_t begin = i * size, end = begin + size;  // old pixel j: j * new_size .. + new_size
    out[i].first = begin / new_size;
    for (std::size_t j = out[i].first; j * new_size < end; ++j)
      out[i].parts.push_back(std::min(end, (j + 1) * new_size) - std::max(begin, j * new_size));
  }
  return out;
}

}  // namespace

std::vector<std::uint8_t> area_means(std::span<const std::uint8_t> pixels, std::size_t height,
                                     std::size_t width, std::size_t channels, std::size_t new_height,
                                     std::size_t new_width) {
  const std::vector<Covered> rows = coverage(height, new_height), columns = coverage(width, new_width);
  const std::uint64_t area = static_cast<std::uint64_t>(height) * width;
  std::vector<std::uint8_t> out;
  out.reserve(new_height * new_width * channels);
  for (const Covered& row : rows) {
    for (const Covered& column : columns) {
      for (std::size_t c = 0; c < channels; ++c) {
        std::uint64_t sum = 0;
        for (std::size_t y = 0; y < row.parts.size(); ++y) {
          std::uint64_t line = 0;
          const std::uint8_t* pixel = pixels.data() + ((row.first + y) * width + column.first) * channels + c;
          for (const std::uint64_t part : column.parts) {
            line += part * *pixel;
            pixel += channels;
          }
          sum += row.parts[y] * line;
        }
        out.push_back(static_cast<std::uint8_t>((2 * sum + area) / (2 * area)));
      }
    }
  }
  return out;
}

std::size_t decode_picture(std::span<const std::byte> file, std::span<const std::size_t> shape, Resize resize,
                           std::vector<std::uint8_t>& out) {
  constexpr unsigned char kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xFF, 0xD8, 0xFF};
  const auto begins_with = [&](std::span<const unsigned char> magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
  };
  Pixels pixels;
  if (begins_with(kPng)) {
    pixels = decoded(PngReader(file), shape, resize);
  } else if (begins_with(kJpeg)) {
    pixels = decoded(JpegReader(file), shape, resize);
  } else {
    throw PictureProblem{file.size() < sizeof kPng ? "is cut off, or no PNG or JPEG"
                                                   : "is no PNG and no JPEG by its first bytes"};
  }
  const std::size_t height = shape[1], width = shape[2], area = height * width;
  const std::size_t decoded_pixels = pixels.height * pixels.width;
  if (resize == Resize::kCrop) crop(pixels, height, width);
  if (pixels.height != height || pixels.width != width)
    pixels.bytes = area_means(pixels.bytes, pixels.height, pixels.width, pixels.channels, height, width);
  out.resize(shape[0] * area);
  for (std::size_t c = 0; c < shape[0]; ++c) {
    const std::size_t from = pixels.channels == 1 ? 0 : c;
    for (std::size_t p = 0; p < area; ++p) out[c * area + p] = pixels.bytes[p * pixels.channels + from];
  }
  return decoded_pixels;
}

}  // namespace muffle::data
