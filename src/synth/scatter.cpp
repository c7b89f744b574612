#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr long kScale = 2;  // a glyph is 3 x 5 squares of this side
constexpr long kGlyphColumns = 3, kGlyphRows = 5, kGlyphHeight = kGlyphRows * kScale;
constexpr long kAdvance = (kGlyphColumns + 1) * kScale;

/// Five rows of three squares for each of kCharacters, top row first, leftmost square in the highest bit.
constexpr std::string_view kCharacters = "0123456789-+.e";
constexpr std::uint8_t kGlyphs[][kGlyphRows] = {
    {7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7}, {5, 5, 7, 1, 1},
    {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 2, 2}, {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7},
    {0, 0, 7, 0, 0}, {0, 2, 7, 2, 0}, {0, 0, 0, 0, 2}, {0, 7, 7, 4, 7}};

/// An RGB picture that starts white. Drawing outside it does nothing. (0, 0) is the top left.
class Canvas {
 public:
  Canvas(std::size_t height, std::size_t width)
      : height_(height), width_(width), pixels_(height * width * 3, 0xFF) {}

  void write(const std::filesystem::path& path) const { write_png(path, pixels_, height_, width_, 3); }

  /// Mixes `colour` into one pixel; opacity 1 replaces it.
  void blend(long x, long y, Colour colour, float opacity = 1.0f) {
    if (x < 0 || y < 0 || x >= static_cast<long>(width_) || y >= static_cast<long>(height_)) return;
    std::uint8_t* pixel =
        pixels_.data() + (static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)) * 3;
    for (std::size_t c = 0; c < 3; ++c) {
      const float mixed =
          static_cast<float>(pixel[c]) * (1.0f - opacity) + static_cast<float>(colour[c]) * opacity;
      pixel[c] = static_cast<std::uint8_t>(std::lround(mixed));
    }
  }
  /// Fills the rectangle [x0, x1) x [y0, y1).
  void fill(long x0, long y0, long x1, long y1, Colour colour) {
    for (long y = y0; y < y1; ++y) {
      for (long x = x0; x < x1; ++x) blend(x, y, colour);
    }
  }
  /// Characters beside kCharacters leave a blank. (x, y) is the text's top left.
  void text(long x, long y, std::string_view characters, Colour colour) {
    for (const char c : characters) {
      const std::size_t known = kCharacters.find(c);
      for (long i = 0; known != kCharacters.npos && i < kGlyphRows * kGlyphColumns; ++i) {
        const long row = i / kGlyphColumns, column = i % kGlyphColumns;
        if ((kGlyphs[known][row] >> (kGlyphColumns - 1 - column) & 1) == 0) continue;
        const long left = x + column * kScale, top = y + row * kScale;
        fill(left, top, left + kScale, top + kScale, colour);
      }
      x += kAdvance;
    }
  }
  /// Pixels that text() takes, the gap after the last character left out.
  static long text_width(std::string_view characters) {
    return characters.empty() ? 0 : static_cast<long>(characters.size()) * kAdvance - kScale;
  }

 private:
  std::size_t height_, width_;
  std::vector<std::uint8_t> pixels_;
};

constexpr long kPlot = 720;  // side of the square that shows [lo, hi]^2
constexpr long kLeft = 64, kTop = 16, kRight = 16, kBottom = 40;
constexpr long kTick = 6;
constexpr float kOpacity = 0.35f;
constexpr Colour kInk{0x30, 0x30, 0x30};

// Tableau's ten colours; classes beyond take them again.
constexpr Colour kColours[] = {{0x4E, 0x79, 0xA7}, {0xF2, 0x8E, 0x2B}, {0xE1, 0x57, 0x59}, {0x76, 0xB7, 0xB2},
                               {0x59, 0xA1, 0x4F}, {0xED, 0xC9, 0x48}, {0xB0, 0x7A, 0xA1}, {0xFF, 0x9D, 0xA7},
                               {0x9C, 0x75, 0x5F}, {0xBA, 0xB0, 0xAC}};

/// 1, 2 or 5 times a power of ten that cuts the range into 4 to 10 parts.
double tick_step(double range) {
  const double power = std::pow(10.0, std::floor(std::log10(range / 4.0)));
  const double most = range / 4.0 / power;  // in [1, 10)
  return power * (most >= 5.0 ? 5.0 : most >= 2.0 ? 2.0 : 1.0);
}

/// Where a value in [lo, hi] lies on an axis of kPlot pixels.
long along(double value, const schema::Schema& schema) {
  return std::lround((value - schema.lo) / (schema.hi - schema.lo) * (kPlot - 1));
}

void draw_axes(Canvas& canvas, const schema::Schema& schema) {
  canvas.fill(kLeft - 1, kTop - 1, kLeft + kPlot + 1, kTop, kInk);
  canvas.fill(kLeft - 1, kTop + kPlot, kLeft + kPlot + 1, kTop + kPlot + 1, kInk);
  canvas.fill(kLeft - 1, kTop - 1, kLeft, kTop + kPlot + 1, kInk);
  canvas.fill(kLeft + kPlot, kTop - 1, kLeft + kPlot + 1, kTop + kPlot + 1, kInk);
  const double step = tick_step(schema.hi - schema.lo);
  const auto first = static_cast<long>(std::ceil(schema.lo / step - 1e-9));
  const auto last = static_cast<long>(std::floor(schema.hi / step + 1e-9));
  for (long i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    const std::string label = fmt::format("{:.6g}", value);
    const long x = kLeft + along(value, schema), y = kTop + kPlot - 1 - along(value, schema);
    canvas.fill(x, kTop + kPlot + 1, x + 1, kTop + kPlot + 1 + kTick, kInk);
    canvas.text(x - Canvas::text_width(label) / 2, kTop + kPlot + kTick + 6, label, kInk);
    canvas.fill(kLeft - 1 - kTick, y, kLeft - 1, y + 1, kInk);
    canvas.text(kLeft - kTick - 6 - Canvas::text_width(label), y - kGlyphHeight / 2, label, kInk);
  }
}

class Scatter final : public schema::RecordWriter {
 public:
  Scatter(std::filesystem::path path, const schema::RecordKind& kind, const schema::Schema& schema)
      : RecordWriter(kind),
        path_(std::move(path)),
        schema_(schema),
        canvas_(kTop + kPlot + kBottom, kLeft + kPlot + kRight) {
    schema.validate();
    if (kind.dims() != 2) {
      throw ConfigError("a scatter plot shows records of two numbers; these have " +
                        std::to_string(kind.dims()) + ".");
    }
    draw_axes(canvas_, schema);
  }

 private:
  void write(const schema::Records& some) override {
    const auto number = [&](std::size_t i) -> double {
      return kind().floats ? some.floats[i] : some.bytes[i];
    };
    for (std::size_t i = 0; i < some.count(); ++i) {
      const double x = number(2 * i), y = number(2 * i + 1);
      if (!(x >= schema_.lo && x <= schema_.hi && y >= schema_.lo && y <= schema_.hi)) continue;
      const long px = kLeft + along(x, schema_), py = kTop + kPlot - 1 - along(y, schema_);
      const Colour colour = kColours[some.labels[i] % std::size(kColours)];
      canvas_.blend(px, py, colour, kOpacity);
      for (const long by : {-1, 1}) {
        canvas_.blend(px + by, py, colour, kOpacity / 2);
        canvas_.blend(px, py + by, colour, kOpacity / 2);
      }
    }
  }
  void complete(const Heartbeat&) override { canvas_.write(path_); }

  std::filesystem::path path_;
  schema::Schema schema_;
  Canvas canvas_;
};

}  // namespace

std::unique_ptr<schema::RecordWriter> scatter_writer(const std::filesystem::path& path,
                                                     const schema::RecordKind& kind,
                                                     const schema::Schema& schema) {
  return std::make_unique<Scatter>(path, kind, schema);
}

}  // namespace muffle::synth
