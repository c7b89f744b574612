#include <fmt/format.h>

#include <cmath>

#include "canvas.hpp"
#include "muffle/core/error.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

constexpr long kPlot = 720;  // side of the square that shows [lo, hi]^2
constexpr long kLeft = 64, kTop = 16, kRight = 16, kBottom = 40;
constexpr long kTick = 6;
constexpr float kOpacity = 0.35f;
constexpr Colour kInk{0x30, 0x30, 0x30};

// Tableau's ten colours; classes beyond take them again.
constexpr std::array<Colour, 10> kColours{{{0x4E, 0x79, 0xA7},
                                           {0xF2, 0x8E, 0x2B},
                                           {0xE1, 0x57, 0x59},
                                           {0x76, 0xB7, 0xB2},
                                           {0x59, 0xA1, 0x4F},
                                           {0xED, 0xC9, 0x48},
                                           {0xB0, 0x7A, 0xA1},
                                           {0xFF, 0x9D, 0xA7},
                                           {0x9C, 0x75, 0x5F},
                                           {0xBA, 0xB0, 0xAC}}};

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
    canvas.text(kLeft - kTick - 6 - Canvas::text_width(label), y - Canvas::kGlyphHeight / 2, label, kInk);
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
      const Colour colour = kColours[some.labels[i] % kColours.size()];
      canvas_.blend(px, py, colour, kOpacity);
      canvas_.blend(px - 1, py, colour, kOpacity / 2);
      canvas_.blend(px + 1, py, colour, kOpacity / 2);
      canvas_.blend(px, py - 1, colour, kOpacity / 2);
      canvas_.blend(px, py + 1, colour, kOpacity / 2);
    }
  }
  void complete(const std::function<void()>&) override {
    write_png(path_, canvas_.pixels(), canvas_.height(), canvas_.width(), 3);
  }

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
